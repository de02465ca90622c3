"""A flag that threads wait for. ``threading.Event`` would swallow an exception of the job's alarm, with its own."""

from __future__ import annotations

import threading

from stepscope.profiler.foundation.own_faults import suppressed


class Flag:
    """Set once. One whose setting was interrupted is seen when the time of a wait is over."""

    def __init__(self) -> None:
        self._is_set = False
        self._until_set = threading.Lock()
        self._until_set.acquire()

    def set(self) -> None:
        """Wake all that wait."""
        if not self._is_set:
            self._is_set = True
            with suppressed(RuntimeError):  # another thread was faster
                self._until_set.release()

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Whether it is set, by then."""
        if not self._is_set and self._until_set.acquire(timeout=seconds):
            self._until_set.release()
        return self._is_set
