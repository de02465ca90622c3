"""Wording for long steps, and for waiting that makes them long."""

from __future__ import annotations

from stepscope.diagnosis.finding import Bilingual
from stepscope.diagnosis.measures.rank_time import LongSteps, RankTime


def long_steps_in_words(long: LongSteps, counted: int) -> Bilingual:
    """Which steps are long, for a sentence."""
    if long.rhythm is None:
        return Bilingual.of("finding_rhythm.some", count=len(long.steps), counted=counted)
    return Bilingual.of("finding_rhythm.every", rhythm=Bilingual(ordinal(long.rhythm), str(long.rhythm)))


def ordinal(number: int) -> str:
    """A number as English counts.

    >>> [ordinal(number) for number in (2, 3, 4, 11, 21, 112)]
    ['2nd', '3rd', '4th', '11th', '21st', '112th']
    """
    teens = number // 10 % 10 == 1
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def when(time: RankTime | None, cause: str) -> str | Bilingual:
    """In which steps a rank waits for something, for a title; empty where that is no matter of some steps."""
    long = time.waits_mostly_in(cause) if time is not None else None
    if time is None or long is None:
        return ""
    return Bilingual.of("finding_rhythm.mostly_in", which=long_steps_in_words(long, len(time.steps)))


def in_which_steps(slow: list[int], counted: list[int]) -> str | Bilingual:
    """In which steps something was slow, for a title; empty where it was in all of them, or all but one."""
    if len(slow) >= len(counted) - 1:
        return ""
    first = counted.index(slow[0])
    if first and slow == counted[first:]:
        return Bilingual.of("finding_rhythm.from_step", step=slow[0])
    which = Bilingual.of("finding_rhythm.some", count=len(slow), counted=len(counted))
    return Bilingual.of("finding_rhythm.in_some", which=which)
