"""Calls a function in the main thread, between two of its instructions, as Python calls signal handlers.

Frameworks record the thread that opens a window, so a thread beside the training cannot open or end one itself.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from stepscope.profiler.foundation.guard import attempt

#: The C library keeps no reference to what it is to call; what it is calling must not go either.
_callbacks: list[Any] = []
_LOOK_S = 0.001


def call_in_main_thread(what: str, function: Callable[[], None]) -> bool:
    """Have it called as soon as the main thread runs Python code; whether that can be had here."""
    import ctypes

    add = getattr(ctypes.pythonapi, "Py_AddPendingCall", None)
    if add is None:
        return False

    def called(argument: Any) -> int:
        del argument
        try:
            attempt(what, function)
        except BaseException as error:  # of a handler of the script's, Ctrl+C for one: it would end here
            _hand_on(error)
        return 0

    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(called)
    _callbacks.append(callback)
    done: bool = add(callback, None) == 0  # else too many wait
    return done


def _hand_on(error: BaseException) -> None:
    """Raise an exception in the main thread once our call there is over; inside it, it would be lost."""
    import _thread

    _thread.start_new_thread(_raise_behind, (error, sys._getframe(1)))


def _raise_behind(error: BaseException, call: FrameType) -> None:
    import ctypes

    class Carrier(type(error)):  # type: ignore[misc]
        """The system takes a class, and makes an exception of it: here, the one that there is."""

        def __new__(cls, *args: Any) -> Any:
            del args
            return error

    Carrier.__name__, Carrier.__qualname__ = type(error).__name__, type(error).__qualname__
    main = threading.main_thread().ident or 0
    while _is_running(call, main):
        time.sleep(_LOOK_S)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(Carrier))


def _is_running(call: FrameType, thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    while frame is not None and frame is not call:
        frame = frame.f_back
    return frame is not None


def is_main_thread() -> bool:
    """Whether this is the thread that the script began in."""
    return threading.get_ident() == threading.main_thread().ident
