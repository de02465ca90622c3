"""Calls a function in the main thread, between two of its instructions, as Python calls signal handlers.

Frameworks record the thread that opens a window, so a thread beside the training cannot open or end one itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from stepscope.profiler.foundation.guard import attempt

#: The C library keeps no reference to what it is to call; what it is calling must not go either.
_callbacks: list[Any] = []


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
        except BaseException as error:  # Ctrl+C meanwhile: it is the script's, and would end here
            kind = ctypes.py_object(type(error))
            main = ctypes.c_ulong(threading.main_thread().ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(main, kind)
        return 0

    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(called)
    _callbacks.append(callback)
    done: bool = add(callback, None) == 0  # else too many wait
    return done


def is_main_thread() -> bool:
    """Whether this is the thread that the script began in."""
    return threading.get_ident() == threading.main_thread().ident
