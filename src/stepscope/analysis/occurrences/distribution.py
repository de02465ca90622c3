"""How durations are distributed: classes of equal width, or of equal ratio where they span magnitudes."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.arrays import Int64s

_CLASSES: Final = 24
#: Beyond this ratio of the longest to the shortest, classes of equal width put nearly all into the first.
_WIDE: Final = 10


def classes(durations: Int64s) -> list[tuple[int, int, int]]:
    """From (inclusive), to (exclusive; of the last class inclusive) and number, in nanoseconds.

    >>> classes(np.array([100, 100, 100]))
    [(100, 100, 3)]
    >>> sum(count for _, _, count in classes(np.arange(1, 1001)))
    1000
    """
    least, greatest = int(durations.min()), int(durations.max())
    if least == greatest:
        return [(least, greatest, len(durations))]
    if greatest > _WIDE * max(least, 1):
        edges = np.geomspace(max(least, 1), greatest, _CLASSES + 1)
    else:
        edges = np.linspace(least, greatest, _CLASSES + 1)
    borders = np.unique(np.round(edges).astype(np.int64))
    borders[0], borders[-1] = least, greatest
    counts, _ = np.histogram(durations, borders)
    pairs = zip(borders[:-1].tolist(), borders[1:].tolist(), counts.tolist(), strict=True)
    return list(pairs)
