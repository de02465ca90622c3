"""Sequences side by side: valid on any input, and as long as the longest common subsequence where that is short."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from stepscope.compare.alignment import aligned

_SEQUENCES = st.lists(st.integers(0, 6), max_size=40)


@given(_SEQUENCES, _SEQUENCES)
def test_every_element_is_in_one_pair_or_one_gap(first: list[int], second: list[int]) -> None:
    both = aligned(first, second)
    assert all(first[i] == second[j] for i, j in both.pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(both.pairs))
    own = sorted([i for i, _ in both.pairs] + [i for gap, _ in both.gaps for i in gap])
    other = sorted([j for _, j in both.pairs] + [j for _, gap in both.gaps for j in gap])
    assert own == list(range(len(first)))
    assert other == list(range(len(second)))


@given(_SEQUENCES)
def test_a_sequence_matches_itself(sequence: list[int]) -> None:
    assert aligned(sequence, sequence).pairs == [(i, i) for i in range(len(sequence))]


@given(st.lists(st.integers(0, 10**6), unique=True, max_size=200), st.data())
def test_removed_elements_are_the_only_gaps(sequence: list[int], data: st.DataObject) -> None:
    removed = data.draw(st.sets(st.sampled_from(sequence))) if sequence else set()
    shorter = [value for value in sequence if value not in removed]
    both = aligned(sequence, shorter)
    assert {sequence[i] for gap, _ in both.gaps for i in gap} == removed
    assert not any(gap for _, gap in both.gaps)


def test_a_layer_that_was_put_in_is_found_among_equal_layers() -> None:
    layer = [1, 2, 3]
    both = aligned(layer * 50, layer * 20 + [9, 9] + layer * 30)
    assert both.gaps == [([], [60, 61])]


def test_a_long_stretch_without_anchors_is_matched_in_order() -> None:
    both = aligned([1, 2] * 500, [2, 1] * 500)
    assert len(both.pairs) >= 500  # a greedy match; the longest one has 999
