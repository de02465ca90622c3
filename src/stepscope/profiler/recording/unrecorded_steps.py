"""How long steps take while nothing is recorded: what a recording has to be compared with, as it slows the host."""

from __future__ import annotations

import statistics
import time
from collections import deque

#: A training settles in its first steps: it compiles, sets up the device, fills its caches.
_SETTLING = 2
#: Fewer tell nothing of what is usual, and the latest of many are enough.
_LEAST, _MOST = 3, 64


class UnrecordedSteps:
    """Lengths of the latest steps without a window, by the steady clock.

    >>> steps = UnrecordedSteps()
    >>> steps.begins(); steps.ends(counts=True); steps.told
    """

    def __init__(self) -> None:
        self._seen = 0
        self._began: int | None = None
        self._lengths: deque[int] = deque(maxlen=_MOST)

    def begins(self) -> None:
        """A step begins now; what the profiler itself did before belongs to none."""
        self._began = time.perf_counter_ns()

    def ends(self, *, counts: bool) -> None:
        """The step ends; ``counts`` is whether nothing was recorded in it, nor prepared."""
        began, self._began = self._began, None
        self._seen += 1
        if counts and began is not None and self._seen > _SETTLING:
            self._lengths.append(time.perf_counter_ns() - began)

    @property
    def told(self) -> dict[str, int] | None:
        """Their number and median; None where there are too few."""
        if len(self._lengths) < _LEAST:
            return None
        return {"count": len(self._lengths), "median_ns": round(statistics.median(self._lengths))}
