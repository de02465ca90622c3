"""The bounded queue between hosts and their devices: a host can launch while there is room in it."""

from __future__ import annotations

import numpy as np

from stepscope.arrays import Bools, Int64s


class LaunchQueue:
    """When the last launches of some ranks began on the device, as many as there is room for.

    >>> queue = LaunchQueue(2, 1)
    >>> for start in (10, 20, 30):
    ...     queue.add(np.array([start]))
    >>> queue.room().tolist()  # of the last two, the first one
    [20]
    """

    def __init__(self, length: int, ranks: int) -> None:
        self._starts = np.zeros((length, ranks), np.int64)  # a ring
        self._oldest = 0

    def room(self) -> Int64s:
        """From when on there is room for one more, by rank."""
        return np.asarray(self._starts[self._oldest], np.int64)

    def add(self, start: Int64s, launched: Bools | None = None) -> None:
        """Launches that begin then; ``launched`` says on which ranks, where it is not all."""
        if launched is None or launched.all():
            self._starts[self._oldest] = start
        elif not launched.any():
            return
        else:
            spared = ~launched
            self._starts[:, spared] = np.roll(self._starts[:, spared], 1, axis=0)  # their oldest stays so
            self._starts[self._oldest, launched] = start[launched]
        self._oldest = (self._oldest + 1) % len(self._starts)
