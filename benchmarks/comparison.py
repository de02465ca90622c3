"""Two captures compared from their files, and ten times the input; msprof-analyze beside it where it is installed."""

from __future__ import annotations

from pathlib import Path

from generate_kineto import write_trace
from measure import measure
from results import Row

_OURS = """
first, second = (stepscope.load(path, store={store!r}, progress=False) for path in {paths!r})
result = first.compare(second).verdict.word
"""
_FRESH = "import shutil, stepscope.run, stepscope.compare.runs\nshutil.rmtree({store!r}, True)"
_VENDOR = """
import subprocess
command = [{tool!r}, "compare", "-d", {second!r}, "-bp", {first!r}, "-o", {out!r}]
result = subprocess.run(command, capture_output=True, check=True).returncode
"""
#: In an environment of its own, which `make test` and `make bench` set up.
_TOOL = Path(__file__).resolve().parents[1] / ".venv-vendor" / "bin" / "msprof-analyze"


def run(data: Path, megabytes: int = 220) -> list[Row]:
    """CPU seconds from the files to the verdict."""
    rows = []
    taken = {}
    for size in (megabytes // 10, megabytes):
        paths = [str(_trace(data, name, size)) for name in ("first", "second")]
        store = str(data / "store-compare")
        taken[size] = ours = measure(_OURS.format(store=store, paths=paths), _FRESH.format(store=store))
        budget = "≤ 8" if size == megabytes else ""
        rows.append(Row(f"compare, 2 × {size} MB", ours.cpu_s, "CPU s", budget=budget, peak_mb=ours.peak_mb))
    small, large = taken[megabytes // 10], taken[megabytes]
    rows.append(Row("ten times the input", large.cpu_s / small.cpu_s, "×", budget="≤ 12"))
    if _TOOL.exists():
        first, second = (str(_trace(data, name, megabytes)) for name in ("first", "second"))
        theirs = measure(_VENDOR.format(tool=str(_TOOL), first=first, second=second, out=str(data / "msprof-compare")))
        rows.append(Row(f"msprof-analyze, 2 × {megabytes} MB", theirs.cpu_s, "CPU s", peak_mb=theirs.peak_mb))
        rows.append(Row("msprof-analyze / stepscope", theirs.cpu_s / large.cpu_s, "×"))
    return rows


def _trace(data: Path, name: str, megabytes: int) -> Path:
    path = data / f"{name}-{megabytes}.json"
    if not path.exists():
        write_trace(path, megabytes=megabytes)
    return path
