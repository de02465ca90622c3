"""Memory that reading a capture has freed goes back to the system, instead of waiting for the next capture."""

from __future__ import annotations

import contextlib
import ctypes


def give_back_freed_memory() -> None:
    """The C library keeps what was freed; glibc gives it back when asked, others have no such call."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
