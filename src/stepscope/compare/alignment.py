"""Which element of one sequence is which of another: near-linear, by what is unique on both sides.

Equal beginnings and ends match at once. Between them, elements that occur once on either side are anchors, as far as
they stand in the same order; what lies between two anchors is aligned in the same way. A stretch without anchors is
aligned by its longest common subsequence if it is short, else element by element in order of occurrence.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_SHORT: Final = 64  # elements a side; the table of a common subsequence grows with the product


@dataclass(frozen=True)
class Aligned:
    """Pairs of positions, and the stretches that have no counterpart: positions of the first and of the second."""

    pairs: list[tuple[int, int]]
    gaps: list[tuple[list[int], list[int]]]


def aligned(first: Sequence[int], second: Sequence[int]) -> Aligned:
    """Two sequences side by side.

    >>> both = aligned([1, 2, 3, 4], [1, 3, 9, 4])
    >>> both.pairs, both.gaps
    ([(0, 0), (2, 1), (3, 3)], [([1], []), ([], [2])])
    """
    pairs: list[tuple[int, int]] = []
    waiting = [(0, len(first), 0, len(second))]
    while waiting:
        low_a, high_a, low_b, high_b = waiting.pop()
        while low_a < high_a and low_b < high_b and first[low_a] == second[low_b]:
            pairs.append((low_a, low_b))
            low_a, low_b = low_a + 1, low_b + 1
        while low_a < high_a and low_b < high_b and first[high_a - 1] == second[high_b - 1]:
            high_a, high_b = high_a - 1, high_b - 1
            pairs.append((high_a, high_b))
        if low_a == high_a or low_b == high_b:
            continue
        anchors = _anchors(first, second, (low_a, high_a), (low_b, high_b))
        if not anchors:
            pairs += _without_anchors(first, second, range(low_a, high_a), range(low_b, high_b))
            continue
        pairs += anchors
        edges = [(low_a - 1, low_b - 1), *anchors, (high_a, high_b)]
        for (before_a, before_b), (after_a, after_b) in itertools.pairwise(edges):
            waiting.append((before_a + 1, after_a, before_b + 1, after_b))
    pairs.sort()
    return Aligned(pairs, _gaps(pairs, len(first), len(second)))


def _anchors(
    first: Sequence[int], second: Sequence[int], within_a: tuple[int, int], within_b: tuple[int, int]
) -> list[tuple[int, int]]:
    """Elements that are unique on both sides, as many of them as stand in one order."""
    once_a = {value for value, count in Counter(first[slice(*within_a)]).items() if count == 1}
    once_b = {value for value, count in Counter(second[slice(*within_b)]).items() if count == 1}
    where_b = {second[index]: index for index in range(*within_b) if second[index] in once_b}
    candidates = [(i, where_b[first[i]]) for i in range(*within_a) if first[i] in once_a and first[i] in where_b]
    return _longest_increasing(candidates)


def _longest_increasing(candidates: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most pairs whose second positions rise, by patience sorting."""
    tops: list[int] = []
    top_index: list[int] = []
    before: list[int] = []
    for index, (_, position) in enumerate(candidates):
        pile = bisect_left(tops, position)
        before.append(top_index[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(position)
            top_index.append(index)
        else:
            tops[pile], top_index[pile] = position, index
    chain = []
    index = top_index[-1] if top_index else -1
    while index >= 0:
        chain.append(candidates[index])
        index = before[index]
    return chain[::-1]


def _without_anchors(first: Sequence[int], second: Sequence[int], own: range, other: range) -> list[tuple[int, int]]:
    if len(own) <= _SHORT and len(other) <= _SHORT:
        return _common_subsequence(first, second, own, other)
    left: defaultdict[int, deque[int]] = defaultdict(deque)
    for index in other:
        left[second[index]].append(index)
    return _longest_increasing([(i, left[first[i]].popleft()) for i in own if left[first[i]]])


def _common_subsequence(first: Sequence[int], second: Sequence[int], own: range, other: range) -> list[tuple[int, int]]:
    longest = [[0] * (len(other) + 1) for _ in range(len(own) + 1)]
    for i in range(len(own) - 1, -1, -1):
        for j in range(len(other) - 1, -1, -1):
            if first[own[i]] == second[other[j]]:
                longest[i][j] = longest[i + 1][j + 1] + 1
            else:
                longest[i][j] = max(longest[i + 1][j], longest[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(own) and j < len(other):
        if first[own[i]] == second[other[j]]:
            pairs.append((own[i], other[j]))
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _gaps(pairs: list[tuple[int, int]], length_a: int, length_b: int) -> list[tuple[list[int], list[int]]]:
    """What lies between neighbouring pairs."""
    edges = [(-1, -1), *pairs, (length_a, length_b)]
    gaps = []
    for (before_a, before_b), (after_a, after_b) in itertools.pairwise(edges):
        only_a, only_b = list(range(before_a + 1, after_a)), list(range(before_b + 1, after_b))
        if only_a or only_b:
            gaps.append((only_a, only_b))
    return gaps
