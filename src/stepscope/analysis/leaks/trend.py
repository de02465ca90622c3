"""Trends of short series: slope, straightness, largest fall, and whether births slow down like a filling cache."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from stepscope.arrays import Bools, Int64s
from stepscope.facts.memory import memory_facts

# Candidate numbers of further cache entries: one by one, then further apart.
_NEAR: Final = 30
_FARTHEST: Final = 50


def median_slope(values: Int64s) -> float:
    """Median of the slopes between all pairs.

    >>> median_slope(np.array([0, 10, 20, 1000, 40, 50]))
    10.0
    """
    most = memory_facts().leaks.slope_points
    if len(values) < 2 or not np.ptp(values):
        return 0.0
    x = np.arange(len(values)) if len(values) <= most else np.unique(np.linspace(0, len(values) - 1, most).astype(int))
    first, second = np.triu_indices(len(x), 1)
    y = values[x]
    return float(np.median((y[second] - y[first]) / (x[second] - x[first])))


def r_squared(values: Int64s) -> float | None:
    """How straight a series is, 0 to 1; null for a flat one."""
    if len(values) < 3 or not np.ptp(values):
        return None
    return float(np.corrcoef(np.arange(len(values)), values)[0, 1] ** 2)


def largest_fall(values: Int64s) -> int:
    """The largest drop from a running maximum."""
    return int((np.maximum.accumulate(values) - values).max(initial=0))


def parts(count: int, number: int) -> list[slice]:
    """A series in ``number`` parts, cut at round(i · count / number)."""
    cuts = [round(index * count / number) for index in range(number + 1)]
    return [slice(first, last) for first, last in pairwise(cuts)]


def cache_evidence(births: Bools, entries: int) -> float:
    """By how much (natural logarithm) a cache filled in random order explains births better than a constant rate.

    The model: one look-up per step among S equal keys, of which ``entries`` are there at first; S fits best.
    """
    count, steps = int(births.sum()), len(births)
    if not count:
        return -np.inf
    rate = count / steps
    constant = count * np.log(rate) + ((steps - count) * np.log(1 - rate) if count < steps else 0.0)
    known = entries + np.append(0, np.cumsum(births)[:-1])
    last = entries + count
    sizes = np.unique(np.append(np.arange(last, last + _NEAR), (last * np.geomspace(1, _FARTHEST, 40)).astype(int)))
    share = known / sizes[:, None]
    with np.errstate(divide="ignore"):
        likelihood = np.where(births, np.log(1 - share), np.log(share)).sum(axis=1)
    return float(likelihood.max() - constant)
