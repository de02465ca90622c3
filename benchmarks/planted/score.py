"""Holds the diagnosis to real trainings with a planted fault: is it named, is its twin left alone, is the gain right?

    python benchmarks/planted/score.py DIR [--json FILE] [--store DIR]

DIR is what ``run.py`` wrote. The predicted gain is compared as a share of the step, because a profiler makes both the
step and the fault a little longer.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

import stepscope
from stepscope.diagnosis.finding import Diagnosis, Finding

#: The issue's limits: the median error of predicted gains, and nothing missed or accused in vain.
MOST_MEDIAN_ERROR = 0.25


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """One fault: what was expected, what the diagnosis says about it and about its twin."""

    fault: str
    device: str
    expected: list[str]
    named: bool
    named_as: str | None
    first: bool
    confidence: str | None
    true_share: float
    predicted_share: float | None
    error: float | None
    others: list[str]
    twin_accused_of: list[str]


def scored(folder: Path, store: Path) -> Scored:
    """The diagnosis of both recordings of a fault beside what was measured."""
    truth = json.loads((folder / "truth.json").read_text())
    faulty, healthy = (diagnosed(folder / f"{twin}.tar.xz", store) for twin in ("fault", "none"))
    accused = [finding for finding in faulty.findings if finding.accuses]
    match = next((finding for finding in accused if finding.kind in truth["kinds"]), None)
    predicted = match.gain_share if match is not None and truth["gains_time"] else None
    return Scored(
        fault=truth["fault"],
        device=truth["device"],
        expected=truth["kinds"],
        named=match is not None,
        named_as=named(match) if match is not None else None,
        first=match is not None and match is accused[0],
        confidence=match.confidence if match is not None else None,
        true_share=truth["gain_share"],
        predicted_share=predicted,
        error=None if predicted is None else abs(predicted - truth["gain_share"]) / abs(truth["gain_share"]),
        others=[named(finding) for finding in accused if finding is not match],
        twin_accused_of=[named(finding) for finding in healthy.findings if finding.accuses],
    )


def diagnosed(capture: Path, store: Path) -> Diagnosis:
    return stepscope.load(capture, store=store).diagnose()


def named(finding: Finding) -> str:
    share = "" if finding.gain_share is None else f" {100 * finding.gain_share:.0f} %"
    return f"{finding.kind}{'' if finding.cause is None else f' ({finding.cause})'}{share}"


def table(rows: list[Scored]) -> str:
    """As Markdown."""
    columns = ("fault", "named as", "measured gain", "predicted", "error", "also found", "twin accused of")
    head = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|\n"
    return head + "".join(
        f"| {row.fault} | {row.named_as or '**missed**'} | {percent(row.true_share)} | {percent(row.predicted_share)} "
        f"| {percent(row.error)} | {', '.join(row.others)} | {', '.join(row.twin_accused_of)} |\n"
        for row in rows
    )


def percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, help="write the rows there, too")
    parser.add_argument("--store", type=Path, help="where to keep what was read; by default nowhere")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="planted") as temporary:
        store = asked.store or Path(temporary)
        rows = [scored(path.parent, store) for path in sorted(asked.folder.glob("*/truth.json"))]
    if not rows:
        parser.error(f"no recordings in {asked.folder}")
    print(table(rows))
    return summary(rows, asked.json)


def summary(rows: list[Scored], kept: Path | None) -> int:
    """The three limits, and whether all hold."""
    errors = [row.error for row in rows if row.error is not None]
    median = statistics.median(errors) if errors else None
    missed = [row.fault for row in rows if not row.named]
    accused = [row.fault for row in rows if row.twin_accused_of]
    totals: dict[str, Any] = {
        "faults": len(rows),
        "missed": missed,
        "twins_accused": accused,
        "median_gain_error": median,
    }
    print(f"named {len(rows) - len(missed)} of {len(rows)}; twins accused: {len(accused)}; ", end="")
    print(f"median error of the gain: {percent(median) or 'unknown'}")
    if kept is not None:
        kept.write_bytes(msgspec.json.format(msgspec.json.encode({"totals": totals, "rows": rows}), indent=1))
    return 1 if missed or accused or median is None or median > MOST_MEDIAN_ERROR else 0


if __name__ == "__main__":
    sys.exit(main())
