"""Time that a profile spends in its own methods; what comes from outside (a limit, a signal) waits for its end.

Both arrive between any two instructions of the main thread, so also in the middle of a change of state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


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
        self._waiting: Callable[[], None] | None = None

    @property
    def is_here(self) -> bool:
        """Whether it is this thread that was interrupted inside one of the methods."""
        return self._depth > 0 and self._thread == threading.get_ident()

    def when_free(self, action: Callable[[], None]) -> None:
        """Do something now, or right after the method under way."""
        if self._depth:
            self._waiting = action
        else:
            action()

    def __enter__(self) -> None:
        self._depth += 1
        self._thread = threading.get_ident()

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if self._depth == 0 and self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            waiting()
