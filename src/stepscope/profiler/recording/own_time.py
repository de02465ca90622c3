"""Time that a profile spends in its own methods; what comes from outside (a limit, a signal) waits for its end.

Both arrive between any two instructions of the main thread, so also in the middle of a change of state.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType


class OwnTime:
    """A context manager around the methods of one profile; may be entered again inside.

    >>> own, done = OwnTime(), []
    >>> with own:
    ...     own.when_free(lambda: done.append("later"))
    ...     done.append("now")
    >>> done
    ['now', 'later']
    """

    def __init__(self) -> None:
        self._depth = 0
        self._thread = 0
        self._frame: FrameType | None = None  # of the outermost method under way
        self._waiting: Callable[[], None] | None = None

    @property
    def is_here(self) -> bool:
        """Whether it is this thread that was interrupted inside one of the methods."""
        return self._thread == threading.get_ident() and self._is_under_way

    def when_free(self, action: Callable[[], None]) -> None:
        """Do something now, or right after the method under way."""
        if self._is_under_way:
            self._waiting = action
        else:
            action()

    def __enter__(self) -> None:
        if not self._is_under_way:
            self._depth, self._thread, self._frame = 0, threading.get_ident(), sys._getframe(1)
        self._depth += 1

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if self._depth > 0:
            return
        self._frame = None
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            waiting()

    @property
    def _is_under_way(self) -> bool:
        """Whether the method is still being run: a signal handler of the job's may have ended it before we knew."""
        frame = None if self._frame is None else sys._current_frames().get(self._thread)
        while frame is not None and frame is not self._frame:
            frame = frame.f_back
        return frame is not None
