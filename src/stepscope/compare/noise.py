"""Is a difference of two means more than chance? By permutation: every way to deal the samples to the two sides.

The noise is what chance alone would give in 95 of 100 deals. Three samples a side cannot reach that; four can.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.arrays import Bools, Float64s

_DEALS: Final = 4000  # where there are more ways to deal, so many of them by lot
_SEED: Final = 1
_MOST_CELLS: Final = 2_000_000  # rows times deals
_OWN_SPREAD: Final = 0.1


@dataclass(frozen=True)
class Difference:
    """Per row: the difference of the means (second less first), the noise, and how likely chance gives as much."""

    delta: Float64s
    noise: Float64s
    probability: Float64s


def difference(first: Float64s, second: Float64s, chance: float) -> Difference:
    """Rows of samples against rows of samples; ``chance`` is the share of deals that may exceed the noise.

    >>> told = difference(np.array([[1.0, 1.1, 0.9, 1.0]]), np.array([[2.0, 2.1, 1.9, 2.0]]), 0.05)
    >>> round(float(told.delta[0]), 3), round(float(told.probability[0]), 3)
    (1.0, 0.029)
    """
    samples = np.concatenate((first, second), axis=1)
    count_a, count_b = first.shape[1], second.shape[1]
    delta = second.mean(axis=1) - first.mean(axis=1)
    sides = _deals(count_a, count_b)
    # A deal gives one side the weight 1/n and the other −1/m.
    weights = np.where(sides, 1 / count_b, -1 / count_a)
    dealt = np.abs(samples @ weights.T)
    tolerance = 1e-9 * (np.abs(samples).max(axis=1) + 1e-300)
    reached = dealt >= (np.abs(delta) - tolerance)[:, None]
    # How much chance gives is a matter of the spread within each side, not of what lies between them.
    residuals = [side - side.mean(axis=1, keepdims=True) for side in (first, second)]
    by_chance = np.abs(np.concatenate(residuals, axis=1) @ weights.T)
    return Difference(delta, np.quantile(by_chance, 1 - chance, axis=1, method="higher"), reached.mean(axis=1))


def _deals(count_a: int, count_b: int) -> Bools:
    """Which samples go to the second side, one row per deal."""
    total = count_a + count_b
    if math.comb(total, count_b) <= _DEALS:
        chosen = np.array(list(itertools.combinations(range(total), count_b)))
        sides = np.zeros((len(chosen), total), np.bool_)
        np.put_along_axis(sides, chosen, True, axis=1)
        return sides
    lot = np.random.default_rng(_SEED).random((_DEALS, total))
    sides = lot.argsort(axis=1) < count_b
    sides[0] = np.arange(total) >= count_a  # what was recorded is one of the deals
    return np.asarray(sides, np.bool_)


def standing_out(first: Float64s, second: Float64s, least: Float64s, chance: float) -> Bools:
    """Which of many rows differ by more than ``least`` and more than chance explains.

    The noise of all rows together says what chance gives (as in the analysis of microarrays): with few samples a row
    alone could never tell. At most ``chance`` of the rows that stand out do so by accident.
    """
    if not len(first):
        return np.zeros(0, np.bool_)
    samples = np.concatenate((first, second), axis=1)
    samples = samples - samples.mean(axis=1, keepdims=True)  # squares of small numbers are exact
    sides = _deals(first.shape[1], second.shape[1])
    sides = sides[:: max(1, len(sides) * len(samples) // _MOST_CELLS)]
    # A row without any spread of its own still has that of the clock, a share of what would count as a difference.
    spread = np.maximum(least * _OWN_SPREAD, 1e-9)
    own = np.abs(_standardised(samples, _recorded(first, second), spread))[:, 0]
    by_chance = np.sort(np.abs(_standardised(samples, sides, spread)).ravel())
    as_large = len(by_chance) - np.searchsorted(by_chance, own * (1 - 1e-9))
    delta = np.abs(second.mean(axis=1) - first.mean(axis=1))
    return np.asarray(discoveries((as_large + 1) / (len(by_chance) + 1), chance) & (delta > least), np.bool_)


def _standardised(samples: Float64s, sides: Bools, spread: Float64s) -> Float64s:
    """Per row and deal: the difference of the means in units of its standard error."""
    means, errors = [], []
    squares = samples**2
    for chosen in (~sides, sides):
        weight = chosen.T.astype(np.float64)
        count = weight.sum(axis=0)
        mean = samples @ weight / count
        variance = np.maximum(squares @ weight / count - mean**2, 0) * count / np.maximum(count - 1, 1)
        means.append(mean)
        errors.append(variance / count)
    return np.asarray((means[1] - means[0]) / (np.sqrt(errors[0] + errors[1]) + spread[:, None]))


def _recorded(first: Float64s, second: Float64s) -> Bools:
    return np.concatenate((np.zeros(first.shape[1], np.bool_), np.ones(second.shape[1], np.bool_)))[None, :]


def discoveries(probability: Float64s, chance: float) -> Bools:
    """Which of many rows stand out if at most this share of them may do so by chance (Benjamini and Hochberg).

    >>> discoveries(np.array([0.001, 0.02, 0.9]), 0.05).tolist()
    [True, True, False]
    """
    if not len(probability):
        return np.zeros(0, np.bool_)
    order = np.argsort(probability)
    allowed = chance * np.arange(1, len(order) + 1) / len(order)
    below = np.flatnonzero(probability[order] <= allowed)
    stands_out = np.zeros(len(order), np.bool_)
    if len(below):
        stands_out[order[: below[-1] + 1]] = True
    return stands_out


def fewest_samples(chance: float) -> int:
    """How many samples a side must have for a difference to be possible at all.

    >>> fewest_samples(0.05)
    4
    """
    return next(count for count in itertools.count(1) if 2 / math.comb(2 * count, count) <= chance)
