"""Offsets and drifts of clocks from the ends of calls: the sum of absolute residuals is made as small as it can be.

The model of an end is: moment of the call + offset of the clock + its drift × time since the middle + noise. The moment
of each call is whatever fits best, so only differences between clocks count. Absolute values let a call that was
matched wrongly, or whose end one member saw late, change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.arrays import Float64s, Int64s

_MOST_ROUNDS: Final = 60
_SETTLED_NS: Final = 100.0
_STEPS_OF_ONE_ROUND: Final = 200
_CLOSE_ENOUGH: Final = 1e-10
_LEAST_RESIDUAL_NS: Final = 500.0


@dataclass(frozen=True)
class Ends:
    """One row per call and clock that took part in it; both are counted from 0, calls without holes."""

    call: Int64s
    clock: Int64s
    end_ns: Float64s  # since any one moment of the call
    since_middle_s: Float64s
    weight: Float64s
    clocks: int


@dataclass(frozen=True)
class Fit:
    """What each clock shows beyond clock 0: in the middle of the window, and how much more with each second."""

    offset_ns: Float64s
    drift_ns_per_s: Float64s
    residual_ns: Float64s  # by row


def fit(ends: Ends, *, drift: bool) -> Fit:
    """Least absolute residuals, by least squares with weights that are made new from the residuals."""
    weight, before = ends.weight, np.full(ends.clocks, np.inf)
    for _ in range(_MOST_ROUNDS):
        offset, slope = _least_squares(ends, weight, drift)
        residual = _residual(ends, offset, slope)
        weight = ends.weight / np.maximum(np.abs(residual), _LEAST_RESIDUAL_NS)
        if np.abs(offset - before).max() < _SETTLED_NS:
            break
        before = offset
    return Fit(offset - offset[0], slope - slope[0], residual)


def _residual(ends: Ends, offset: Float64s, slope: Float64s) -> Float64s:
    """What is left of each end beyond the moment of its call, which is the median of what the members show."""
    left = ends.end_ns - offset[ends.clock] - slope[ends.clock] * ends.since_middle_s
    order = np.lexsort((left, ends.call))
    first = np.flatnonzero(np.diff(ends.call[order], prepend=-1))
    members = np.diff(np.append(first, len(order)))
    ordered = left[order]
    middle = (ordered[first + (members - 1) // 2] + ordered[first + members // 2]) / 2
    return np.asarray(left - middle[ends.call], np.float64)


def _least_squares(ends: Ends, weight: Float64s, drift: bool) -> tuple[Float64s, Float64s]:
    """Conjugate gradients: the system has one unknown per clock, or two, and is as sparse as the calls."""
    of_call = np.maximum(np.bincount(ends.call, weight), 1e-300)
    count = ends.clocks

    def within_call(values: Float64s) -> Float64s:
        return np.asarray(values - (np.bincount(ends.call, weight * values) / of_call)[ends.call], np.float64)

    def spread(unknowns: Float64s) -> Float64s:
        values = unknowns[ends.clock]
        if drift:
            values = values + unknowns[count + ends.clock] * ends.since_middle_s
        return within_call(values)

    def gather(values: Float64s) -> Float64s:
        weighted = weight * values
        parts = [np.bincount(ends.clock, weighted, count)]
        if drift:
            parts.append(np.bincount(ends.clock, weighted * ends.since_middle_s, count))
        return np.concatenate(parts)

    diagonal = [np.bincount(ends.clock, weight, count)]
    if drift:
        diagonal.append(np.bincount(ends.clock, weight * ends.since_middle_s**2, count))
    scale = 1 / np.maximum(np.concatenate(diagonal), 1e-300)
    unknowns = np.zeros(len(scale))
    left = gather(within_call(ends.end_ns))
    enough = _CLOSE_ENOUGH * np.sqrt(float(left @ (scale * left)))
    towards = scaled = scale * left
    size = float(left @ scaled)
    for _ in range(_STEPS_OF_ONE_ROUND):
        if np.sqrt(size) <= enough:
            break
        image = gather(spread(towards))
        step = size / max(float(towards @ image), 1e-300)
        unknowns = unknowns + step * towards
        left = left - step * image
        scaled = scale * left
        before, size = size, float(left @ scaled)
        towards = scaled + size / before * towards
    return unknowns[:count], unknowns[count:] if drift else np.zeros(count)
