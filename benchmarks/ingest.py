"""Reading traces: against json.load, plain against gzip, memory of many ranks, opening again, the command's start."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from generate_kineto import write_trace
from measure import Measured, measure
from results import Row

_INGEST = """
import stepscope
result = stepscope.load({path!r}, store={store!r}, progress=False).store.manifest.rows("slices")
"""


def run(data: Path, megabytes: int) -> list[Row]:
    """All rows about ingest; traces are made in ``data`` if they are not there."""
    plain, zipped = data / f"kineto-{megabytes}.json", data / f"kineto-{megabytes}.json.gz"
    for path, gzip in ((plain, False), (zipped, True)):
        if not path.exists():
            write_trace(path, megabytes=megabytes, gzip=gzip)
    baseline = measure(f"import json\nresult = len(json.load(open({str(plain)!r}))['traceEvents'])", repeat=2)
    ours = _ingest(plain, data / "store-plain")
    gz = _ingest(zipped, data / "store-gz")
    rows = [
        Row(f"json.load, {megabytes} MB Kineto", baseline.cpu_s, "CPU s", peak_mb=baseline.peak_mb),
        Row(f"ingest, {megabytes} MB Kineto", ours.cpu_s, "CPU s", "≤ 5", peak_mb=ours.peak_mb, peak_budget="≤ 500"),
        Row("json.load / ingest", baseline.cpu_s / ours.cpu_s, "×", "≥ 2.8"),
        Row("ingest gz / plain", gz.cpu_s / ours.cpu_s, "×", "≤ 1.3", peak_mb=gz.peak_mb),
    ]
    reopened = measure(
        _INGEST.format(path=str(plain), store=str(data / "store-plain")), "import stepscope.run", repeat=3
    )
    rows.append(Row("open an ingested run", reopened.wall_s, "s", "≤ 0.3"))
    start = measure(
        f"import subprocess\nsubprocess.run([{sys.executable!r}, '-m', 'stepscope', '--help'], capture_output=True)",
        repeat=3,
    )
    rows.append(Row("stepscope --help", start.wall_s, "s", "≤ 0.3"))
    return rows + _many_ranks(data)


def _ingest(path: Path, store: Path, repeat: int = 2) -> Measured:
    runs = []
    for _ in range(repeat):
        shutil.rmtree(store, ignore_errors=True)
        runs.append(measure(_INGEST.format(path=str(path), store=str(store)), "import stepscope.run"))
    return min(runs, key=lambda run: run.cpu_s)


def _many_ranks(data: Path) -> list[Row]:
    """Peak memory of one process must not grow with the number of ranks."""
    rows = []
    for ranks in (4, 64):
        directory = data / f"ranks-{ranks}"
        if not directory.exists():
            directory.mkdir(parents=True)
            for rank in range(ranks):
                write_trace(directory / f"rank{rank}.json", megabytes=8, rank=rank, world_size=ranks)
        done = _ingest(directory, data / f"store-{ranks}", repeat=1)
        rows.append(Row(f"ingest of {ranks} ranks × 8 MB", done.cpu_s, "CPU s", peak_mb=done.peak_mb))
    return rows
