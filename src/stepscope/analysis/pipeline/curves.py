"""Curves with fewer points that keep every extreme."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepscope.arrays import Int64s


def kept_points(values: npt.NDArray[np.float64], most: int) -> Int64s:
    """Places of the points to keep, in order: first, last, and the lowest and highest of each stretch.

    At most ``most`` of them; a curve with no more points than that is kept whole. NaN is never an extreme.

    >>> kept_points(np.array([0.0, 9, 0, 0, 0, 0, 0, -5, 0, 0]), 6).tolist()
    [0, 1, 5, 7, 9]
    """
    count = len(values)
    if count <= most:
        return np.arange(count)
    stretches = max((most - 2) // 2, 1)
    edges = np.linspace(0, count, stretches + 1).astype(np.int64)
    stretch = np.repeat(np.arange(stretches), np.diff(edges))
    kept = [np.array([0, count - 1])]
    for sign in (1.0, -1.0):
        ranked = np.where(np.isnan(values), np.inf, values * sign)
        order = np.lexsort((np.arange(count), ranked, stretch))
        kept.append(order[edges[:-1]])
    return np.unique(np.concatenate(kept))
