"""Who stands out among peers: by more than peers differ, and by more than anybody changes from step to step.

One or several may stand out, up to half of all. The others tell how much is usual: their spread, in the units of a
t-distribution for as few as they are. Where they are too few to tell, only what is large counts.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from stepscope.diagnosis.measures.student import quantile
from stepscope.facts.findings import finding_facts

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class KnownSpread:
    """The standard deviation of a mean where more is known than the means themselves, with degrees of freedom."""

    deviation: float
    freedom: int

    @classmethod
    def of_groups(cls, groups: Iterable[Sequence[float]], size: int) -> KnownSpread | None:
        """How much means of ``size`` members differ by accident, from how members of one group do; None of single ones.

        >>> KnownSpread.of_groups([[1.0, 3.0], [5.0, 7.0]], 2)
        KnownSpread(deviation=1.0, freedom=2)
        """
        several = [members for members in groups if len(members) > 1]
        squares = sum(statistics.variance(members) * (len(members) - 1) for members in several)
        freedom = sum(len(members) - 1 for members in several)
        return cls(math.sqrt(squares / freedom / size), freedom) if freedom else None


def standing_out(
    values: Mapping[Name, Sequence[float]], whole: float, least_share: float, known: KnownSpread | None = None
) -> dict[Name, float]:
    """Those whose mean lies above that of the others, with how much; ``values`` by step, ``whole`` is a mean step.

    >>> steady = {0: [10, 11, 10, 9], 1: [30, 31, 29, 30], 2: [10, 9, 10, 11], 3: [9, 10, 11, 10]}
    >>> standing_out(steady, 100.0, 0.05)
    {1: 20.0}
    >>> in_turn = {0: [9, 0, 0, 1], 1: [0, 9, 0, 9], 2: [0, 0, 9, 0]}
    >>> standing_out(in_turn, 100.0, 0.01)
    {}
    """
    means = {name: statistics.fmean(steps) for name, steps in values.items() if steps}
    order = sorted(means, key=lambda name: -means[name])
    for count in range(len(order) // 2, 0, -1):
        others = order[count:]
        usual = statistics.fmean(means[name] for name in others)
        excess = means[order[count - 1]] - usual
        # Most numbers of members fail at the share, which costs next to nothing to ask.
        if excess >= least_share * whole and excess >= noise_limit(values, others, count, whole, known):
            return {name: means[name] - usual for name in order[:count]}
    return {}


def noise_limit(
    values: Mapping[Name, Sequence[float]],
    others: Sequence[Name],
    count: int,
    whole: float,
    known: KnownSpread | None = None,
) -> float:
    """By how much a mean must exceed the usual to be significant."""
    limits, strength = finding_facts().outstanding, finding_facts().strength
    means = [statistics.fmean(values[name]) for name in others]
    large = strength.clear_share * whole
    if known is None and len(means) > 1:
        known = KnownSpread(statistics.stdev(means), len(means) - 1)
    between = large
    if known is not None:
        # As many could have stood out as there are members: each gets its part of the chance of an error.
        certainty = 1 - limits.error_chance / (len(others) + count)
        spread = known.deviation * math.sqrt(1 + 1 / len(means))
        between = min(quantile(certainty, known.freedom) * spread, large)
    return max(between, step_noise([values[name] for name in others]))


def step_noise(series: Sequence[Sequence[float]], members: int = 1) -> float:
    """By how much a mean over steps, and over so many members, may be off because each changes from step to step."""
    steps = max(min(map(len, series)), 1)
    deviation = _deviation_over_steps(series) / math.sqrt(steps * members)
    return finding_facts().outstanding.least_step_noise_multiple * deviation


def by_accident(own: Sequence[float], others: Sequence[Sequence[float]]) -> bool:
    """Whether a member lies above the others because of steps in which something happened to it; values by step.

    Not if it does so in step after step, by the difference from the mean of the others and how that changes. And not
    if its long steps lie far above all that the others show, however few they are.

    >>> now_and_then = [0, 0, 80, 0, 0, 80, 0, 0, 80]
    >>> by_accident(now_and_then, [[1, 0, 2, 1, 3, 0, 1, 0, 2]] * 3)
    False
    >>> by_accident(now_and_then, [[1, 0, 70, 1, 3, 0, 1, 0, 2], [0, 60, 0, 0, 0, 5, 0, 0, 0]])
    True
    """
    usual = [statistics.fmean(values) for values in zip(*others, strict=True)]
    above = [value - level for value, level in zip(own, usual, strict=True)]
    long = min(each for each in above if 3 * each >= max(above))
    farthest = max(max(values) - statistics.fmean(values) for values in others)
    limits = finding_facts().outstanding
    if long >= limits.least_times_of_others * farthest:
        return False
    certainty = 1 - limits.error_chance_of_steps / (len(others) + 1)
    noise = statistics.stdev(above) / math.sqrt(len(above))
    return statistics.fmean(above) < quantile(certainty, len(above) - 1) * noise


def _deviation_over_steps(series: Sequence[Sequence[float]]) -> float:
    squares = [(value - statistics.fmean(steps)) ** 2 for steps in series for value in steps]
    freedom = max(len(squares) - len(series), 1)
    return math.sqrt(sum(squares) / freedom)
