"""Steps that are long in a rhythm: "every 4th step stalls"."""

from __future__ import annotations

import msgspec
import numpy as np

from stepscope.analysis.foundation.units import Count, Identifier, Microseconds
from stepscope.arrays import Bools, Float64s, Int64s
from stepscope.facts.steps import steps_facts


class Pattern(msgspec.Struct, frozen=True):
    """Every ``every``th step takes longer than the others, all of ``steps`` do, by ``extra_us`` on average."""

    every: Count
    steps: list[Identifier]
    mean_period_us: Microseconds
    other_mean_period_us: Microseconds
    extra_us: Microseconds


def pattern_of(step: Int64s, period_us: Float64s) -> Pattern | None:
    """The shortest rhythm in which all steps that are due are longer than all others.

    Of two steps alone the order says little: the two longest of nine are in a rhythm by accident in one case of five.
    So they must lie as far above the others as these lie apart.

    >>> pattern = pattern_of(np.arange(8), np.array([10.0, 10, 10, 50, 11, 10, 10, 52]))
    >>> (pattern.every, pattern.steps, round(pattern.extra_us, 1))
    (4, [3, 7], 40.8)
    >>> pattern_of(np.arange(6), np.array([10.0, 10.5, 10, 10.5, 10, 10.5]))
    >>> pattern_of(np.arange(9), np.array([50.0, 52, 76, 24, 29, 27, 67, 16, 35]))
    >>> pattern_of(np.arange(9), np.array([100.0, 104, 300, 103, 101, 301, 105, 102, 106]))  # the last is no stall
    """
    limits = steps_facts().pattern
    least = limits.least_steps
    if len(step) < 2 * least:
        return None
    # The longest steps are all due, so the rhythm divides the distances between them.
    longest = step[np.argsort(period_us)[-least:]]
    apart = np.gcd.reduce(longest - longest[0])
    for every in range(2, len(step) // least + 2):
        if apart % every:
            continue
        due: Bools = step % every == longest[0] % every
        if due.sum() < least or (~due).sum() < least or len(np.unique(np.diff(step[due]))) != 1:
            continue
        long, short = period_us[due], period_us[~due]
        above = long.min() - short.max()
        if len(long) <= least and above < np.ptp(short):
            continue
        if above > 0 and long.min() >= limits.longer_than_others * np.median(short):
            extra = float(long.mean() - short.mean())
            return Pattern(every, step[due].tolist(), float(long.mean()), float(short.mean()), extra)
    return None
