"""Memory that was freed, given back to the system between the stages of a large piece of work."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable


def give_back() -> None:
    """Let the allocator return what it keeps for later: a stage of small arrays leaves gaps that large ones cannot use.

    Does nothing where the C library has no such call.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@functools.cache
def _trim() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
    return trim
