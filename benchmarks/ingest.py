"""Reading traces: against json.load, plain against gzip, Ascend, many ranks, opening again, ``--help``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from generate_ascend import write_capture
from generate_kineto import write_trace
from measure import Measured, measure
from results import Row

_ASCEND_MEGABYTES = 100
_OPEN = "import stepscope\nresult = stepscope.load({path!r}, store={store!r}, progress=False).ranks"

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
    baseline, ours, gz = _in_turn(
        lambda: measure(f"import json\nresult = len(json.load(open({str(plain)!r}))['traceEvents'])"),
        lambda: _ingest(plain, data / "store-plain"),
        lambda: _ingest(zipped, data / "store-gz"),
    )
    rows = [
        Row(f"json.load, {megabytes} MB Kineto", baseline.cpu_s, "CPU s", peak_mb=baseline.peak_mb),
        Row(f"ingest, {megabytes} MB Kineto", ours.cpu_s, "CPU s", "≤ 5", peak_mb=ours.peak_mb, peak_budget="≤ 500"),
        Row("json.load / ingest", baseline.cpu_s / ours.cpu_s, "×", "≥ 2.8"),
        Row("ingest gz / plain", gz.cpu_s / ours.cpu_s, "×", "≤ 1.3", peak_mb=gz.peak_mb),
    ]
    rows.append(Row("open an ingested file, imports included", _reopen(plain, data / "store-plain"), "s", "≤ 0.3"))
    start = measure(
        f"import subprocess\nsubprocess.run([{sys.executable!r}, '-m', 'stepscope', '--help'], capture_output=True)",
        repeat=3,
    )
    rows.append(Row("stepscope --help", start.wall_s, "s", "≤ 0.3"))
    return rows + _ascend(data) + _many_ranks(data)


def _ingest(path: Path, store: Path) -> Measured:
    shutil.rmtree(store, ignore_errors=True)
    return measure(_INGEST.format(path=str(path), store=str(store)), "import stepscope.run")


def _in_turn(*runs: Callable[[], Measured], repeat: int = 3) -> list[Measured]:
    """The best of some runs of each; in turn, so that a busy neighbour disturbs all of them."""
    rounds = [[run() for run in runs] for _ in range(repeat)]
    return [min(each, key=lambda run: run.cpu_s) for each in zip(*rounds, strict=True)]


def _reopen(path: Path, store: Path) -> float:
    return measure(_OPEN.format(path=str(path), store=str(store)), repeat=5).wall_s


def _ascend(data: Path) -> list[Row]:
    """Megabytes per CPU second of the two timelines, of equal size."""
    capture, kineto = data / f"ascend-{_ASCEND_MEGABYTES}", data / f"kineto-{_ASCEND_MEGABYTES}.json"
    if not capture.exists():
        write_capture(capture, _ASCEND_MEGABYTES)
    if not kineto.exists():
        write_trace(kineto, megabytes=_ASCEND_MEGABYTES)
    size = sum(file.stat().st_size for file in capture.rglob("*") if file.is_file())
    ascend, ours = _in_turn(
        lambda: _ingest(capture, data / "store-ascend"), lambda: _ingest(kineto, data / "store-kineto"), repeat=5
    )
    rate, beside = size / 1e6 / ascend.cpu_s, kineto.stat().st_size / 1e6 / ours.cpu_s
    return [
        Row(f"ingest, {_ASCEND_MEGABYTES} MB Ascend trace_view", rate, "MB / CPU s", peak_mb=ascend.peak_mb),
        Row(f"ingest, {_ASCEND_MEGABYTES} MB Kineto", beside, "MB / CPU s", peak_mb=ours.peak_mb),
        Row("Ascend / Kineto", rate / beside, "×", "≥ 0.8"),
    ]


def _many_ranks(data: Path) -> list[Row]:
    """Peak memory of one process must not grow with the number of ranks."""
    rows = []
    for ranks in (4, 64):
        directory = data / f"ranks-{ranks}"
        if not directory.exists():
            directory.mkdir(parents=True)
            for rank in range(ranks):
                write_trace(directory / f"rank{rank}.json", megabytes=8, rank=rank, world_size=ranks)
        store = data / f"store-{ranks}"
        done = _ingest(directory, store)
        rows.append(Row(f"ingest of {ranks} ranks × 8 MB", done.cpu_s, "CPU s", peak_mb=done.peak_mb))
        again = _reopen(directory, store)
        rows.append(Row(f"open {ranks} ingested ranks, imports included", again, "s", "≤ 0.3"))
    return rows
