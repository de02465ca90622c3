"""Which ranks are late by more than chance: in most steps, and by more than ranks and steps differ anyway."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from stepscope.facts.findings import finding_facts

# A median absolute deviation is so much smaller than the standard deviation of a normal distribution.
_MAD_TO_DEVIATION: Final = 1.4826


def late_ranks(delays: Mapping[int, Sequence[float]], period_us: Mapping[int, float]) -> dict[int, float]:
    """Ranks that hold the others up in most steps, with the mean delay; ``delays`` are microseconds by step.

    A rank late in every step stands out; one that was late once, or ranks that are late in turn, do not.

    >>> steady = {0: [1, 0, 1, 0], 1: [20, 21, 19, 20], 2: [0, 1, 0, 1]}
    >>> late_ranks(steady, dict.fromkeys(steady, 100.0))
    {1: 20.0}
    >>> in_turn = {0: [9, 0, 0, 1], 1: [0, 9, 0, 9], 2: [0, 0, 9, 0]}
    >>> late_ranks(in_turn, dict.fromkeys(in_turn, 100.0))
    {}
    """
    limits = finding_facts().slow_rank
    usual = {rank: statistics.median(steps) for rank, steps in delays.items()}
    over_steps = _over_steps(delays, usual)
    late = {}
    for rank, steps in delays.items():
        noise = max(over_steps, _between([usual[other] for other in usual if other != rank]))
        if usual[rank] >= max(limits.least_excess_share * period_us[rank], limits.least_noise_multiple * noise):
            late[rank] = statistics.fmean(steps)
    return late


def _over_steps(delays: Mapping[int, Sequence[float]], usual: Mapping[int, float]) -> float:
    """How much the delay of a rank changes from step to step."""
    squares = [(delay - usual[rank]) ** 2 for rank, steps in delays.items() for delay in steps]
    return math.sqrt(statistics.fmean(squares))


def _between(others: Sequence[float]) -> float:
    """How much the other ranks differ, whatever a few of them do."""
    middle = statistics.median(others)
    return _MAD_TO_DEVIATION * statistics.median(abs(delay - middle) for delay in others)
