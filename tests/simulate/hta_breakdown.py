"""Run by the environment of HolisticTraceAnalysis: its temporal breakdown of traces, as JSON."""

import json
import sys

from hta.trace_analysis import TraceAnalysis

files = {int(rank): file for rank, file in (pair.split("=", 1) for pair in sys.argv[1:])}
rows = TraceAnalysis(trace_files=files, trace_dir="/", include_last_profiler_step=True).get_temporal_breakdown(
    visualize=False
)
print(json.dumps(rows.to_dict("records")))
