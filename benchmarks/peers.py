"""The same trace read by other tools, where they are installed (``make bench`` installs them)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from generate_kineto import write_trace
from measure import measure
from results import Row

_HTA = """
from hta.trace_analysis import TraceAnalysis
result = len(TraceAnalysis(trace_files={{0: {path!r}}}).get_temporal_breakdown(visualize=False))
"""
_TENSORBOARD = """
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.io.cache import Cache
result = RunProfileData.parse("worker", "0", {path!r}, Cache()).profiler_start_ts
"""
_OURS = """
import stepscope
result = stepscope.load({path!r}, store={store!r}, progress=False).store.manifest.rows("slices")
"""


def run(data: Path, megabytes: int = 50) -> list[Row]:
    """CPU seconds to get a trace in, per tool; the peers also compute a first breakdown while they read."""
    path = data / f"kineto-{megabytes}.json"
    if not path.exists():
        write_trace(path, megabytes=megabytes)
    store = str(data / "store-peers")
    ours = measure(
        _OURS.format(path=str(path), store=store), f"import shutil, stepscope.run\nshutil.rmtree({store!r}, True)"
    )
    rows = [Row(f"stepscope, {megabytes} MB", ours.cpu_s, "CPU s", peak_mb=ours.peak_mb)]
    for name, module, code in (
        ("HolisticTraceAnalysis", "hta", _HTA),
        ("torch-tb-profiler", "torch_tb_profiler", _TENSORBOARD),
    ):
        if importlib.util.find_spec(module) is None:
            continue
        theirs = measure(code.format(path=str(path)))
        rows.append(Row(f"{name}, {megabytes} MB", theirs.cpu_s, "CPU s", peak_mb=theirs.peak_mb))
        rows.append(Row(f"{name} / stepscope", theirs.cpu_s / ours.cpu_s, "×"))
    return rows
