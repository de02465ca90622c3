"""Quantiles of Student's t-distribution."""

from __future__ import annotations

import math
from statistics import NormalDist

_WHOLE_TURNS = 60


def quantile(certainty: float, freedom: int) -> float:
    """The value that a share ``certainty`` of the distribution lies below.

    >>> [round(quantile(0.975, freedom), 3) for freedom in (1, 2, 7, 30)]  # as tables have them
    [12.706, 4.303, 2.365, 2.042]
    """
    low, high = 0.0, 1.0
    while _below(high, freedom) < certainty:
        high *= 2
    for _ in range(_WHOLE_TURNS):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, freedom) < certainty else (low, middle)
    return high


def _below(value: float, freedom: int) -> float:
    """The distribution function for values from 0 on: a finite series for whole degrees of freedom."""
    if freedom > 200:
        return NormalDist().cdf(value)
    angle = math.atan(value / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    if freedom % 2:
        term = total = cosine if freedom > 1 else 0.0
        for number in range(3, freedom - 1, 2):
            term *= cosine * cosine * (number - 1) / number
            total += term
        both = 2 / math.pi * (angle + sine * total)
    else:
        term = total = 1.0
        for number in range(2, freedom - 1, 2):
            term *= cosine * cosine * (number - 1) / number
            total += term
        both = sine * total
    return (1 + both) / 2
