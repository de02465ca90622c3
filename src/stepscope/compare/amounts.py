"""Sums over steps as means of whole nanoseconds that still add up."""

from __future__ import annotations

import numpy as np

from stepscope.arrays import Int64s


def apportioned(sums: Int64s, count: int, total: int | None = None) -> Int64s:
    """Each sum divided by ``count``, rounded so that all together are ``total`` (else the rounded mean of all).

    >>> apportioned(np.array([10, 10, 10]), 4).tolist(), apportioned(np.array([-7, 10]), 2, 2).tolist()
    ([3, 3, 2], [-3, 5])
    """
    if not len(sums):
        return sums
    whole, rest = np.divmod(sums, count)
    wanted = round(int(sums.sum()) / count) if total is None else total
    missing = wanted - int(whole.sum())
    means = whole.copy()
    # The largest remainders are rounded up. A given total differs from the mean by rounding alone.
    order = np.argsort(-rest, kind="stable")
    turns, some = divmod(missing, len(sums))
    means += turns
    means[order[:some]] += 1
    return means
