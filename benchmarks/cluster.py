"""Many ranks from their files: their communication, beside msprof-analyze on the same capture, and the diagnosis."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from generate_cluster import write_cluster
from measure import Measured, measure
from results import Row

_ROOT = Path(__file__).resolve().parents[1]
_MSPROF = Path(os.environ.get("STEPSCOPE_MSPROF_ANALYZE", _ROOT / ".venv-vendor" / "bin" / "msprof-analyze"))
RANKS, CALLS = 256, 1000
_OURS = """
run = stepscope.load({capture!r}, store={store!r}, progress=False)
answer = run.communication()
result = [len(run.ranks), sum(each.count for each in answer.operations), answer.waits[0].root]
"""
_DIAGNOSE = """
import stepscope
stepscope.load({capture!r}, store={store!r}, progress=False).diagnose()
"""


def run(data: Path, ranks: int = RANKS, calls: int = CALLS) -> list[Row]:
    """CPU seconds from the files, of us and of the vendor's tool where it is installed."""
    capture = write_cluster(data, ranks, calls)
    what = f"{ranks} ranks × {calls} collectives (text)"
    full = (ranks, calls) == (RANKS, CALLS)
    with tempfile.TemporaryDirectory() as store:
        ours = _ours(capture, store)
        diagnosed, again = (measure(_DIAGNOSE.format(capture=str(capture), store=store)) for _ in range(2))
    rows = [
        _row(f"communication of {what}", ours, "≤ 10" if full else "", "≤ 500" if full else ""),
        _row(f"diagnose of {what}, from the store", diagnosed, "≤ 15" if full else ""),
        _row("the same again", again, "≤ 1" if full else ""),
    ]
    if _MSPROF.exists():
        vendor = _vendor(capture)
        rows.append(Row(f"msprof-analyze cluster -m all, {what}", vendor.cpu_s, "CPU s", "", vendor.peak_mb, ""))
        rows.append(Row("msprof-analyze / stepscope", vendor.cpu_s / ours.cpu_s, "×", "", None, ""))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parent / "data")
    options = parser.parse_args()
    for row in run(options.data, options.ranks, options.calls):
        print(row.markdown())


def _row(what: str, measured: Measured, budget: str, peak_budget: str = "") -> Row:
    return Row(what, measured.cpu_s, "CPU s", budget, measured.peak_mb, peak_budget)


def _ours(capture: Path, store: str) -> Measured:
    measured = measure(_OURS.format(capture=str(capture), store=store), "import stepscope")
    ranks, count, root = measured.result
    assert count == ranks * int(capture.name.split("x")[1])
    assert root == 3  # the one that computes longer
    return measured


def _vendor(capture: Path) -> Measured:
    with tempfile.TemporaryDirectory() as out:
        command = [str(_MSPROF), "cluster", "-m", "all", "-d", str(capture), "-o", out]
        return measure(f"subprocess.run({command!r}, check=True, capture_output=True)", "import subprocess")


if __name__ == "__main__":
    main()
