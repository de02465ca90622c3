"""Which times are believed, which step holds a moment, and how codes become texts: each against its definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.arrays import NULL
from stepscope.readers.files.exact_time import LARGEST_NS
from stepscope.readers.slices.slice_table import KIND, SliceTable, believable
from stepscope.readers.slices.steps import Steps
from stepscope.readers.trace_json.codes import Codes
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter
from stepscope.store.schema import SLICE_KINDS

_DAY_NS = 86_400 * 10**9
_NOW_NS = 1_700_000_000 * 10**9
_PLAIN = 11  # events around the odd one


def judged(start: int, dur: int) -> tuple[bool, int, dict[str, int]]:
    """Of one event among plain ones: whether it is kept, with which duration, and what is noted."""
    notes = Notes()
    starts = np.array([*range(_NOW_NS, _NOW_NS + _PLAIN), start], np.int64)
    keep, durations = believable(starts, np.array([*range(_PLAIN), dur], np.int64), notes, "a.json")
    assert keep[:-1].all()
    assert durations[:-1].tolist() == list(range(_PLAIN))
    return bool(keep[-1]), int(durations[-1]), {note.code: note.count for note in notes.all()}


@pytest.mark.parametrize("start", [_NOW_NS, _NOW_NS - _DAY_NS + _PLAIN, _NOW_NS + _DAY_NS])
@pytest.mark.parametrize("dur", [0, 1, 7 * _DAY_NS])
def test_what_can_be_true_is_believed(start: int, dur: int) -> None:
    assert judged(start, dur) == (True, dur, {})


@pytest.mark.parametrize("start", [NULL, LARGEST_NS + 1, -LARGEST_NS - 1])
def test_an_event_without_a_possible_time_is_dropped(start: int) -> None:
    kept, _, noted = judged(start, 5)
    assert (kept, noted) == (False, {"event_without_time": 1})


@pytest.mark.parametrize("start", [0, -5, _NOW_NS - 2 * _DAY_NS, _NOW_NS + 2 * _DAY_NS, LARGEST_NS, -LARGEST_NS])
def test_an_event_far_from_all_others_is_dropped(start: int) -> None:
    kept, _, noted = judged(start, 5)
    assert (kept, noted) == (False, {"event_far_away": 1})


@pytest.mark.parametrize(("dur", "code"), [(NULL, "duration_missing"), (-1, "duration_negative")])
def test_a_duration_that_is_none_becomes_zero(dur: int, code: str) -> None:
    assert judged(_NOW_NS, dur) == (True, 0, {code: 1})


def test_a_duration_of_more_than_a_week_is_an_overflow() -> None:
    kept, _, noted = judged(_NOW_NS, 7 * _DAY_NS + 1)
    assert (kept, noted) == (False, {"duration_absurd": 1})


def test_of_no_events_none_is_dropped() -> None:
    notes = Notes()
    keep, dur = believable(np.empty(0, np.int64), np.empty(0, np.int64), notes, "a.json")
    assert (len(keep), len(dur), notes.all()) == (0, 0, [])


_steps = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 12)), max_size=6).map(sorted)


@given(_steps, st.lists(st.integers(-3, 70), max_size=20))
def test_the_step_of_a_moment_is_the_last_to_start_if_it_has_not_ended(
    windows: list[tuple[int, int]], moments: list[int]
) -> None:
    start, length = np.array(windows, np.int64).reshape(-1, 2).T
    steps = Steps(np.arange(len(windows)) + 10, start, start + length, "marks")
    expected = []
    for moment in moments:
        begun = [number for number, (first, _) in enumerate(windows) if first <= moment]
        holds = bool(begun) and moment < sum(windows[begun[-1]])
        expected.append(begun[-1] + 10 if holds else NULL)
    assert steps.at(np.array(moments, np.int64)).tolist() == expected


def table_of(kinds: list[str], names: list[str]) -> SliceTable:
    codes = Codes()
    count = len(kinds)
    return SliceTable(
        np.arange(count) + 5,
        np.zeros(count, np.int32),
        np.arange(count) * 10,
        np.full(count, 10),
        np.array([codes[name] for name in names], np.int32),
        codes,
        np.array([KIND[kind] for kind in kinds], np.int8),
    )


def test_kinds_are_told_apart() -> None:
    slices = table_of(list(SLICE_KINDS), ["a"] * len(SLICE_KINDS))
    for kind in SLICE_KINDS:
        assert slices.is_kind(kind).tolist() == [other == kind for other in SLICE_KINDS]
    assert slices.is_kind("kernel", "copy").tolist() == [kind in ("kernel", "copy") for kind in SLICE_KINDS]


def test_codes_are_written_as_texts_and_those_below_zero_as_null(tmp_path: Path) -> None:
    slices = table_of(["operator", "kernel", "copy"], ["add", "mul", "add"])
    slices.texts = {
        "phase": (np.array([1, -1, 0], np.int8), ["forward", "backward"]),
        "operator": (np.array([-1, 2, 0], np.int64), ["a", "b", None]),
        "module": (np.full(3, -1, np.int32), []),
    }
    slices.integers = {"bytes": np.array([7, NULL, 0])}
    out = RankWriter(tmp_path, 0)
    slices.write(out)
    out.close()
    columns = ("slice", "name", "kind", "phase", "operator", "module", "bytes", "group")
    assert pl.read_parquet(tmp_path / "slices-0.parquet").select(columns).rows() == [
        (5, "add", "operator", "backward", None, None, 7, None),
        (6, "mul", "kernel", None, None, None, None, None),
        (7, "add", "copy", "forward", "a", None, 0, None),
    ]
