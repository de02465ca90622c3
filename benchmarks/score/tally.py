"""Precision, recall and gain error per kind, with the intervals that the number of cases allows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from score.cases import HEALTHY
from score.judging import Outcome

_95_PERCENT: Final = 1.96


@dataclass(frozen=True)
class Ratio:
    """A part of a whole, with its Wilson interval of 95 %."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        return self.part / self.whole if self.whole else None

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true share lies.

        >>> tuple(round(bound, 3) for bound in Ratio(9, 10).interval)
        (0.596, 0.982)
        """
        if not self.whole:
            return 0.0, 1.0
        share, square = self.part / self.whole, _95_PERCENT**2
        middle = share + square / (2 * self.whole)
        half = _95_PERCENT * math.sqrt(share * (1 - share) / self.whole + square / (4 * self.whole**2))
        scale = 1 + square / self.whole
        return max((middle - half) / scale, 0.0), min((middle + half) / scale, 1.0)


@dataclass(frozen=True)
class KindScore:
    """One kind at one strength. Accusations that are wrong count against the kind that they name, in any faulty run."""

    kind: str
    strength: str
    cases: int
    impossible: int
    precision: Ratio
    recall: Ratio
    cause_right: Ratio
    gain_error: float | None


def kind_scores(outcomes: Sequence[Outcome]) -> list[KindScore]:
    """A line per kind and strength, in the order of the cases."""
    faulty = [each for each in outcomes if each.group != HEALTHY]
    lines = dict.fromkeys((each.group, strength) for each in faulty for strength in each.strengths)
    return [_kind_score(kind, strength, faulty) for kind, strength in lines]


def _kind_score(kind: str, strength: str, faulty: Sequence[Outcome]) -> KindScore:
    """A mixed case has several kinds: its lines count them all, each fault by what mending it alone gains.

    Wrong accusations of such a case count on the line of its strength.
    """
    own = [each for each in faulty if each.group == kind and strength in each.strengths]
    run = [each for each in own if each.possible]
    same_strength = [each for each in faulty if each.strength == strength and each.possible]
    everything = kind not in {unit[0] for each in run for unit in each.truth}

    def counts(unit: tuple[str, str]) -> bool:
        return everything or unit[0] == kind

    truth = [(each, unit) for each in run for unit in each.units(strength) if counts(unit)]
    hits = sum(unit in each.accused for each, unit in truth)
    judged = [each for each in run if each.strength == strength] if everything else same_strength
    wrong = sum(counts(unit) for each in judged for unit in each.wrong)
    causes = [each.cause_right for each in run if each.cause_right is not None]
    return KindScore(
        kind=kind,
        strength=strength,
        cases=len(run),
        impossible=len(own) - len(run),
        precision=Ratio(hits, hits + wrong) if judged else Ratio(0, 0),
        recall=Ratio(hits, len(truth)),
        cause_right=Ratio(sum(causes), len(causes)),
        gain_error=_median_gain_error(run),
    )


def _median_gain_error(outcomes: Iterable[Outcome]) -> float | None:
    errors = [
        abs(each.told_gain - each.true_gain) / each.true_gain
        for each in outcomes
        if each.told_gain is not None and each.true_gain
    ]
    return statistics.median(errors) if errors else None


def overall(outcomes: Sequence[Outcome], strength: str) -> tuple[Ratio, Ratio]:
    """Precision and recall over all kinds at one strength."""
    run = [each for each in outcomes if each.group != HEALTHY and each.strength == strength and each.possible]
    planted = [(each, unit) for each in run for unit in each.units(strength)]
    hits = sum(unit in each.accused for each, unit in planted)
    return Ratio(hits, hits + sum(len(each.wrong) for each in run)), Ratio(hits, len(planted))


def healthy_accused(outcomes: Iterable[Outcome]) -> dict[str, Ratio]:
    """How many healthy runs were accused of anything, by their noise."""
    by_noise: dict[str, list[bool]] = {}
    for each in outcomes:
        if each.group == HEALTHY:
            by_noise.setdefault(each.cause, []).append(bool(each.accused))
    return {noise: Ratio(sum(accused), len(accused)) for noise, accused in by_noise.items()}
