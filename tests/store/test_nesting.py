"""Rows, parents and containment of slices, against a twin that tries every pair."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stepscope.arrays import NONE
from stepscope.store import ancestors, overlapping
from stepscope.store.nesting import Nesting, nearest, nest
from support.limits import at_most

Interval = tuple[int, int, int]  # track, start, duration


@dataclass
class Twin:
    """By definition, in quadratic time. Moments are doubled, so that an empty slice is one unit long."""

    intervals: list[Interval]

    def __post_init__(self) -> None:
        self.first = [2 * start for _, start, _ in self.intervals]
        self.behind = [2 * (start + dur) if dur else 2 * start + 1 for _, start, dur in self.intervals]
        every = range(len(self.intervals))
        self.order = sorted(every, key=lambda i: (self.intervals[i][0], self.first[i], -self.behind[i], i))
        self.parent = [NONE] * len(self.intervals)
        self.row = [0] * len(self.intervals)
        for place, own in enumerate(self.order):
            before = [other for other in self.order[:place] if self.intervals[other][0] == self.intervals[own][0]]
            around = [other for other in before if self.behind[other] >= self.behind[own]]
            self.parent[own] = around[-1] if around else NONE
            lowest = self.row[around[-1]] + 1 if around else 0
            taken = {self.row[other] for other in before if self.behind[other] > self.first[own]}
            self.row[own] = next(row for row in range(lowest, len(before) + lowest + 1) if row not in taken)

    def containing(self, track: int, moment: int) -> int:
        holders = [
            own
            for own in self.order
            if self.intervals[own][0] == track and self.first[own] <= 2 * moment < self.behind[own]
        ]
        return holders[-1] if holders else NONE


def laid(intervals: list[Interval]) -> Nesting:
    table = np.array(intervals, np.int64).reshape(-1, 3)
    return nest(table[:, 0].astype(np.int32), table[:, 1].copy(), table[:, 2].copy())


_few_tracks = st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 12))
_one_track = st.tuples(st.just(0), st.integers(0, 30), st.integers(0, 15))
_intervals = st.one_of(st.lists(_few_tracks, max_size=25), st.lists(_one_track, max_size=40))


@given(_intervals)
@example([(0, 0, 10), (0, 2, 4), (0, 4, 8)])
@example([(0, 0, 10), (0, 2, 11), (0, 3, 5)])  # both contain the third; the later one is the inner one
@example([(0, 5, 0), (0, 5, 0), (0, 5, 3), (0, 2, 3)])
def test_rows_and_parents_equal_those_of_trying_every_pair(intervals: list[Interval]) -> None:
    nesting, twin = laid(intervals), Twin(intervals)
    assert nesting.order.tolist() == twin.order
    assert nesting.parent.tolist() == twin.parent
    assert nesting.row.tolist() == twin.row


# Long against their distance, many of one start, many of no length: hardly anything nests.
_crowded = st.lists(
    st.tuples(st.just(0), st.integers(0, 40), st.sampled_from([0, 0, 1, 5, 7, 12, 20, 33, 60])), max_size=60
)
_MUCH = 1 << 30
# How rows are found depends on how many overlaps there are; each way has to do for all of them.
_WAYS = {
    "in rounds": {
        "_WORTH_A_ROUND": 1,
        "_SHARE_OF_A_ROUND": _MUCH,
        "_PAIRS_PER_SLICE": _MUCH,
        "_STEPS_PER_SLICE": _MUCH,
    },
    "in a loop": {"_WORTH_A_ROUND": _MUCH, "_PAIRS_PER_SLICE": _MUCH, "_STEPS_PER_SLICE": _MUCH},
    "slice by slice": {"_PAIRS_PER_SLICE": -1},
    "slice by slice, after too many rounds": {"_MOST_ROUNDS": 1, "_PAIRS_PER_SLICE": _MUCH},
    "slice by slice, after too many steps": {"_STEPS_PER_SLICE": 1, "_PAIRS_PER_SLICE": _MUCH},
}


@pytest.mark.parametrize("way", _WAYS)
@given(intervals=st.one_of(_crowded, _intervals))
@example(intervals=[(0, 0, 10), (0, 2, 11), (0, 3, 5), (0, 4, 20), (0, 5, 0)])
def test_each_way_to_lay_overlaps_equals_trying_every_pair(way: str, intervals: list[Interval]) -> None:
    twin = Twin(intervals)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _WAYS[way].items():
            patch.setattr(overlapping, name, value)
        nesting = laid(intervals)
    assert (nesting.row.tolist(), nesting.parent.tolist()) == (twin.row, twin.parent)


@given(_crowded)
def test_parents_found_one_by_one_equal_those_of_trying_every_pair(intervals: list[Interval]) -> None:
    twin = Twin(intervals)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ancestors, "_MOST_ROUNDS", 1)
        assert laid(intervals).parent.tolist() == twin.parent


@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_overlaps_equal_those_of_trying_every_pair(seed: int) -> None:
    """Stretches of their own and long ones, deep and flat, as streams and threads of a device have them."""
    random = np.random.default_rng(seed)
    start = random.integers(0, 6_000, 700)
    dur = np.where(random.random(700) < 0.1, random.integers(100, 900, 700), random.integers(0, 30, 700))
    intervals = [(0, 0, 5_000), *((0, int(first), int(length)) for first, length in zip(start, dur, strict=True))]
    nesting, twin = laid(intervals), Twin(intervals)
    assert (nesting.row.tolist(), nesting.parent.tolist()) == (twin.row, twin.parent)


@given(_intervals)
def test_slices_of_one_row_never_overlap(intervals: list[Interval]) -> None:
    nesting, twin = laid(intervals), Twin(intervals)
    lanes: dict[tuple[int, int], list[int]] = {}
    for own in twin.order:
        lanes.setdefault((intervals[own][0], int(nesting.row[own])), []).append(own)
    for members in lanes.values():
        for left, right in itertools.pairwise(members):
            assert twin.behind[left] <= twin.first[right]


@given(_intervals, st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 50)), max_size=20))
def test_the_innermost_slice_at_a_moment(intervals: list[Interval], moments: list[tuple[int, int]]) -> None:
    nesting, twin = laid(intervals), Twin(intervals)
    tracks = np.array([track for track, _ in moments], np.int32)
    times = np.array([moment for _, moment in moments], np.int64)
    found = nesting.containing(tracks, times)
    assert found.tolist() == [twin.containing(track, moment) for track, moment in moments]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.booleans()), max_size=40))
def test_the_nearest_flagged_ancestor_equals_that_of_walking_up(seeds: list[tuple[int, bool]]) -> None:
    # A forest: each slice hangs under an earlier one, or under none.
    parent = [seed % (number + 1) - 1 for number, (seed, _) in enumerate(seeds)]
    flagged = [flag for _, flag in seeds]

    def walked(number: int) -> int:
        while number != NONE and not flagged[number]:
            number = parent[number]
        return number

    found = nearest(np.array(parent, np.int64), np.array(flagged, np.bool_))
    assert found.tolist() == [walked(number) for number in range(len(seeds))]


def test_touching_slices_share_a_row() -> None:
    assert laid([(0, 0, 5), (0, 5, 5), (0, 10, 1)]).row.tolist() == [0, 0, 0]


def test_an_empty_slice_lies_inside_what_surrounds_it_and_not_behind_its_end() -> None:
    nesting = laid([(0, 0, 10), (0, 0, 0), (0, 9, 0), (0, 10, 0)])
    assert nesting.parent.tolist() == [NONE, 0, 0, NONE]
    assert nesting.row.tolist() == [0, 1, 1, 0]


def test_empty_slices_at_one_moment_stand_below_each_other_in_file_order() -> None:
    nesting = laid([(0, 4, 0), (0, 4, 0), (0, 4, 0)])
    assert nesting.row.tolist() == [0, 1, 2]
    assert nesting.parent.tolist() == [NONE, 0, 1]
    assert nesting.containing(np.zeros(2, np.int32), np.array([4, 5])).tolist() == [2, NONE]


def test_of_equal_slices_the_first_of_the_file_is_outside() -> None:
    assert laid([(0, 1, 3), (0, 1, 3)]).parent.tolist() == [NONE, 0]


def test_times_of_this_century_in_nanoseconds_fit() -> None:
    year_2090 = 3_786_912_000_000_000_000
    nesting = laid([(0, year_2090, 10**15), (0, year_2090 + 1, 1), (0, -year_2090, 5)])
    assert nesting.parent.tolist() == [NONE, 0, NONE]
    assert nesting.row.tolist() == [0, 1, 0]


def test_nothing_nests_in_nothing() -> None:
    nesting = laid([])
    assert nesting.order.tolist() == nesting.row.tolist() == nesting.parent.tolist() == []
    assert nesting.containing(np.zeros(1, np.int32), np.array([3])).tolist() == [NONE]
    assert nearest(np.empty(0, np.int64), np.empty(0, np.bool_)).tolist() == []


# --- shapes that invite quadratic time -------------------------------------------------------------------

_MANY = 100_000


@pytest.fixture
def quickly() -> Iterator[None]:
    with at_most(8):  # each takes one or two where time grows with the number of slices
        yield


@pytest.mark.usefixtures("quickly")
def test_a_staircase_of_partial_overlaps() -> None:
    nesting = nest(np.zeros(_MANY, np.int32), np.arange(_MANY) * 10, np.full(_MANY, 15))
    assert (nesting.parent == NONE).all()
    assert (nesting.row == np.arange(_MANY) % 2).all()  # each overlaps its neighbours only


@pytest.mark.usefixtures("quickly")
def test_a_staircase_in_which_all_overlap() -> None:
    nesting = nest(np.zeros(_MANY, np.int32), np.arange(_MANY), np.full(_MANY, 2 * _MANY))
    assert (nesting.parent == NONE).all()
    assert (nesting.row == np.arange(_MANY)).all()


def matryoshka(count: int) -> tuple[Nesting, int]:
    """Each slice one unit inside the one before; and the moment at which all have ended."""
    inner = np.arange(count)
    return nest(np.zeros(count, np.int32), inner, 2 * (count - inner)), 2 * count


@pytest.mark.usefixtures("quickly")
def test_nesting_a_hundred_thousand_deep() -> None:
    nesting, _ = matryoshka(_MANY)
    assert (nesting.row == np.arange(_MANY)).all()
    assert (nesting.parent == np.arange(_MANY) - 1).all()
    assert (nearest(nesting.parent, np.arange(_MANY) == 0) == 0).all()


@pytest.mark.usefixtures("quickly")
def test_moments_between_the_ends_of_deep_nesting() -> None:
    nesting, end = matryoshka(_MANY)
    moments = np.arange(_MANY, end)
    # The slice k ends at 2 * count - k, so it is the innermost at the moment before.
    expected = end - 1 - moments
    assert (nesting.containing(np.zeros(_MANY, np.int32), moments) == expected).all()


@pytest.mark.usefixtures("quickly")
def test_one_overlap_at_the_bottom_of_deep_nesting() -> None:
    depth = 2 * _MANY
    inner = np.arange(depth)
    start = np.append(inner, [depth, depth + 1])
    dur = np.append(2 * (2 * depth - inner), [10, 15])
    nesting = nest(np.zeros(depth + 2, np.int32), start, dur)
    assert (nesting.row == np.arange(depth + 2)).all()
    assert nesting.parent[-2:].tolist() == [depth - 1, depth - 1]


@pytest.mark.usefixtures("quickly")
def test_overlaps_of_two_inside_nests_of_a_thousand() -> None:
    """Each nest ends in two slices that overlap, so that both kinds of shape meet, a hundred times."""
    depth, nests = 1_000, _MANY // 1_000
    inner = np.arange(depth)
    one_start = np.append(inner, [depth, depth + 1])
    one_dur = np.append(2 * (2 * depth - inner), [10, 15])
    start = (one_start[None, :] + 5 * depth * np.arange(nests)[:, None]).ravel()
    nesting = nest(np.zeros(len(start), np.int32), start, np.tile(one_dur, nests))
    assert (nesting.row == np.tile(np.arange(depth + 2), nests)).all()
    last = np.arange(nests) * (depth + 2) + depth + 1
    assert (nesting.parent[last] == last - 2).all()


@pytest.mark.usefixtures("quickly")
def test_leaves_deep_inside_a_nest_that_all_overlap_one_slice_outside_of_it() -> None:
    """Between each leaf and the slice that it overlaps lie all its ancestors."""
    depth, leaves = 500, _MANY
    inner = np.arange(depth)
    start = np.concatenate(([0], inner + 1, depth + 1 + 2 * np.arange(leaves)))
    end = depth + 1 + 2 * leaves
    dur = np.concatenate(([end], end + 2 * (depth - inner), np.ones(leaves, np.int64)))
    nesting = nest(np.zeros(len(start), np.int32), start, dur)
    assert (nesting.row == np.concatenate((np.arange(depth + 1), np.full(leaves, depth + 1)))).all()
    assert (nesting.parent[depth + 1 :] == depth).all()
    assert nesting.parent[:3].tolist() == [NONE, NONE, 1]


@pytest.mark.usefixtures("quickly")
def test_many_short_stretches_of_a_staircase() -> None:
    stretch, step = np.divmod(np.arange(_MANY), 5)
    nesting = nest(np.zeros(_MANY, np.int32), stretch * 1_000 + step * 10, np.full(_MANY, 100))
    assert (nesting.row == step).all()  # all five of a stretch overlap
    assert (nesting.parent == NONE).all()


@pytest.mark.usefixtures("quickly")
def test_a_track_for_each_slice() -> None:
    tracks = np.arange(20_000, dtype=np.int32)
    nesting = nest(tracks, np.zeros(len(tracks), np.int64), np.full(len(tracks), 5))
    assert (nesting.row == 0).all()
    assert (nesting.containing(tracks, np.full(len(tracks), 3)) == tracks).all()


def test_more_rows_than_are_tried_one_by_one_equal_those_of_trying_every_pair() -> None:
    overlapping = [(0, 3 * number, 400 + 5 * number) for number in range(90)]
    inside = [(0, 3 * number + 1, 1 + number % 7) for number in range(120)]
    nesting, twin = laid([*overlapping, *inside]), Twin([*overlapping, *inside])
    assert max(twin.row) > 64
    assert (nesting.row.tolist(), nesting.parent.tolist()) == (twin.row, twin.parent)


@given(_intervals)
def test_by_row_sorts_by_track_row_and_start(intervals: list[Interval]) -> None:
    nesting, twin = laid(intervals), Twin(intervals)
    place = {own: number for number, own in enumerate(twin.order)}
    expected = sorted(place, key=lambda own: (intervals[own][0], twin.row[own], place[own]))
    assert nesting.by_row().tolist() == expected
