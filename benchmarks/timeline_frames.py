"""Frames of the Timeline in a real Chromium as it pans, zooms and scrolls: 10 M slices of a rank, and 1,024 ranks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

import simulated_jobs
from page_server import PageServer, address_of, page_script, serving
from results import Row
from stepscope.server.library import run_id
from timeline_tiles import timeline_store

SLICES: Final = 10_000_000
RANKS: Final = 1024


def run(data: Path, slices: int = SLICES, ranks: int = RANKS) -> list[Row]:
    """The time that scripts take in a frame, by movement; the runs are made in ``data`` if they are not there."""
    large, job = timeline_store(data, slices).directory, simulated_jobs.simulated_job(data, ranks)
    rows = []
    with serving([large, job], data / "store-pages") as server:
        rows += _frames(server, large, f"{slices / 1e6:g} M slices", "")
        rows += _frames(server, job, f"{ranks:,} ranks", "rank=all")
    return rows


def _frames(server: PageServer, capture: Path, what: str, parameters: str) -> list[Row]:
    details = json.loads(server.ask(f"api{address_of(capture, '').rstrip('/')}"))
    length, number = str(details["end_at_ns"]), run_id(capture.resolve(), None)
    rows = []
    for line in page_script("measure-frames.mjs", server.address.rstrip("/"), number, length, parameters):
        if "p95" in line:
            rows.append(Row(f"frame script of {what}, {line['name']}, p95", line["p95"], "ms", "≤ 16"))
            rows.append(Row("its page's thread, mean of a frame", line["cpu"], "CPU ms"))
            rows.append(Row(f"its frames with a hole, of {line['frames']}", line["holes"], "frames"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=SLICES)
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parent / "data")
    options = parser.parse_args()
    for row in run(options.data, options.slices, options.ranks):
        print(row.markdown(), flush=True)


if __name__ == "__main__":
    main()
