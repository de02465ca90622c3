"""Run by the environment of HolisticTraceAnalysis: its temporal breakdown of traces, as JSON."""

import json
import sys


def main() -> None:
    from hta.trace_analysis import TraceAnalysis  # only that environment has it

    files = {int(rank): file for rank, file in (pair.split("=", 1) for pair in sys.argv[1:])}
    analysis = TraceAnalysis(trace_files=files, trace_dir="/", include_last_profiler_step=True)
    print(json.dumps(analysis.get_temporal_breakdown(visualize=False).to_dict("records")))


if __name__ == "__main__":
    main()
