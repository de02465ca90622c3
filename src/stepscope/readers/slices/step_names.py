"""Which annotations of the host mark steps: PyTorch's own, or those that serving engines put around each batch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from stepscope.arrays import NULL, Bools
from stepscope.facts.steps import steps_facts


@dataclass(frozen=True)
class StepName:
    """One spelling of step marks; the first group of the pattern is the number, where the name tells it."""

    marks_from: str
    pattern: re.Pattern[str]

    def number(self, word: str) -> int:
        """The number that a mark tells, else NULL.

        >>> [name.number("ProfilerStep#7") for name in spellings()[:2]] == [7, NULL]
        True
        """
        match = self.pattern.match(word)
        return int(match[1]) if match and self.pattern.groups else NULL


@cache
def spellings() -> tuple[StepName, ...]:
    """All spellings, in the order of their rank: marks of a later one count only where there are none of the former."""
    return tuple(StepName(mark.name, re.compile(mark.pattern)) for mark in steps_facts().mark)


def step_names(words: list[str], can_mark: Bools) -> Bools:
    """Which names mark steps; ``can_mark`` are those that slices of the host have."""
    for spelling in spellings():
        marks = np.array([bool(spelling.pattern.match(word)) for word in words], np.bool_) & can_mark
        if marks.any():
            return marks
    return np.zeros(len(words), np.bool_)


def spelling_of(word: str) -> StepName:
    """The spelling of the name of a step mark."""
    return next((each for each in spellings() if each.pattern.match(word)), spellings()[0])
