"""A last step inside which the capture ended is incomplete, with or without a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.stores import make_store
from stepscope.analysis.foundation.step_marks import step_marks

US = 1_000


def marks_of(durations_us: list[int]) -> list[dict[str, Any]]:
    """Marks one behind the other."""
    starts = [sum(durations_us[:number]) * US for number in range(len(durations_us))]
    return [
        {"step": number, "host_start_ns": start, "host_end_ns": start + duration * US, "marks_from": "profiler_step"}
        for number, (start, duration) in enumerate(zip(starts, durations_us, strict=True))
    ]


def work_of(marks: list[dict[str, Any]], kind: str, counts: list[int]) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "name": kind, "start_ns": mark["host_start_ns"] + number, "dur_ns": 1, "step": mark["step"]}
        for mark, count in zip(marks, counts, strict=True)
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("durations_us", "kind", "counts", "incomplete"),
    [
        ([5_000, 5_000, 5_000, 20], "kernel", [4, 4, 4, 4], [3]),  # the profiler stopped 20 us into a step
        ([5_000, 5_000, 5_000, 20], "operator", [4, 4, 4, 4], [3]),
        ([5_000, 5_000, 5_000, 600], "operator", [4, 4, 4, 4], []),  # short, but not a tenth of the others
        ([5_000, 5_000, 5_000, 4_000], "operator", [4, 4, 4, 0], [3]),  # as long, but nothing happened in it
        ([5_000, 5_000, 5_000, 4_000], "operator", [4, 4, 9, 4], []),  # work of another kind in the one before
        ([5_000, 20], "operator", [4, 4], [1]),
        ([20], "operator", [4], []),  # the only one there is
        ([5_000, 5_000, 5_000], "mark", [0, 0, 0], []),
    ],
)
def test_which_steps_are_cut(
    tmp_path: Path, durations_us: list[int], kind: str, counts: list[int], incomplete: list[int]
) -> None:
    marks = marks_of(durations_us)
    store = make_store(tmp_path, steps=marks, slices=work_of(marks, kind, counts))
    assert step_marks(store, 0).filter("incomplete")["step"].to_list() == incomplete
