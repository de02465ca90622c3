"""A series as a line of small bars, for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from stepscope.report.console import Console

_BARS: Final = "▁▂▃▄▅▆▇█"
_MOST: Final = 60


def sparkline(values: Sequence[float | None], largest: float | None = None) -> str:
    """Bars from zero to the largest value; of a long series the largest of each stretch. Blank where nothing is known.

    Series to be held against each other are given the largest value of all.

    >>> sparkline([1, 1, 2, None, 0.1])
    '▄▄█ ▁'
    """
    if largest is None:
        largest = largest_of(values)
    if largest <= 0:
        return ""
    return "".join(" " if value is None else _bar(value / largest) for value in _stretches(values))


def beside(console: Console, values: Sequence[float | None], largest: float | None = None) -> str:
    """The same behind a text, at a terminal; nothing where it is piped, nor for a single value."""
    return f"  {sparkline(values, largest)}" if console.is_terminal and len(values) > 1 else ""


def largest_of(values: Sequence[float | None]) -> float:
    """The largest value that is known, else 0."""
    return max((value for value in values if value is not None), default=0)


def _bar(share: float) -> str:
    return _BARS[min(len(_BARS) - 1, max(0, round(share * len(_BARS)) - 1))]


def _stretches(values: Sequence[float | None]) -> list[float | None]:
    if len(values) <= _MOST:
        return list(values)
    bounds = [index * len(values) // _MOST for index in range(_MOST + 1)]
    pieces = (values[first:last] for first, last in pairwise(bounds))
    return [max((value for value in piece if value is not None), default=None) for piece in pieces]
