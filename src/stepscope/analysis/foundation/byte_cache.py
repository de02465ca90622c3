"""What was worked out once and may be asked for again: bounded in bytes, the least recently used goes first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any


class ByteCache:
    """Values by key. Several threads may ask; a value is made once, and those who wait for it get it.

    >>> cache = ByteCache(10)
    >>> cache.get("a", lambda: b"12345", len), cache.get("a", lambda: b"never made", len)
    (b'12345', b'12345')
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.held_bytes = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Any], size: Callable[[Any], int]) -> Any:
        """The value of a key, made now if it is not held. One larger than the cache is given, and soon forgotten."""
        held = self._held(key)
        if held is not None:
            return held[0]
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            held = self._held(key)
            if held is not None:
                return held[0]
            try:
                value = make()
                self._keep(key, value, size(value))
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return value

    def drop(self, wanted: Callable[[Hashable], bool]) -> None:
        """Forget the values of some keys."""
        with self._lock:
            for key in [key for key in self._values if wanted(key)]:
                self.held_bytes -= self._values.pop(key)[1]

    def _held(self, key: Hashable) -> tuple[Any, int] | None:
        with self._lock:
            held = self._values.get(key)
            if held is not None:
                self._values.move_to_end(key)
            return held

    def _keep(self, key: Hashable, value: Any, size: int) -> None:
        with self._lock:
            self._values[key] = (value, size)
            self.held_bytes += size
            # The newest stays even if it is larger than all that may be held: it is in use.
            while self.held_bytes > self.most_bytes and len(self._values) > 1:
                self.held_bytes -= self._values.popitem(last=False)[1][1]
