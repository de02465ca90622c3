"""Tells faults of ours from exceptions that a signal handler of the job's raises while our code happens to run.

Python calls signal handlers between any two instructions, so an alarm of the job's may raise inside our code. Such an
exception belongs to the job, whatever its type: every ``except`` of the profiler asks here first. ::

    except ours(OSError) as error:      # a TimeoutError of the job's alarm is none of ours, and goes on
"""

from __future__ import annotations

import functools
import inspect
import signal
import sys
import threading
from collections.abc import Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from stepscope.profiler.foundation import signals

Kind = TypeVar("Kind", bound=BaseException)

#: An exception raised while another is on its way; more than this many in a row are nobody's.
_MOST_CONTEXTS = 16


def ours(*kinds: type[Kind]) -> tuple[type[Kind], ...]:
    """For an ``except`` clause: these kinds, or none of them where the job's own signal handler raised."""
    error = sys.exc_info()[1]
    if error is None:
        return kinds
    users = raised_by_handler(error, sys._getframe(1))
    if users is None:
        return kinds
    if users is not error:
        raise users  # one of ours came up while the job's was on its way
    return ()


class suppressed:  # noqa: N801 (used as contextlib.suppress is)
    """Like ``contextlib.suppress``, for faults of ours only."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> bool:
        return isinstance(error, self._kinds) and raised_by_handler(error, sys._getframe(1)) is None


def raised_by_handler(error: BaseException, catching: FrameType) -> BaseException | None:
    """What a signal handler raised below the frame that caught an error: the error, one before it, or None."""
    if threading.get_ident() != threading.main_thread().ident:
        return None  # Python calls handlers in its main thread only
    current: BaseException | None = error
    for _ in range(_MOST_CONTEXTS):
        if current is None:
            return None
        frames = [frame for frame in _frames(current) if frame is not catching]
        if (current is error or any(_is_below(frame, catching) for frame in frames)) and any(map(_is_handler, frames)):
            return current
        current = current.__cause__ or current.__context__
    return None


def _frames(error: BaseException) -> Iterator[FrameType]:
    entry = error.__traceback__
    while entry is not None:
        yield entry.tb_frame
        entry = entry.tb_next


def _is_below(frame: FrameType, catching: FrameType) -> bool:
    """Whether a frame was called from another: what the job caught before it called us lies elsewhere.

    A generator that has ended does not know its caller any more.
    """
    caller = frame.f_back
    while caller is not None and caller is not catching:
        caller = caller.f_back
    return caller is not None


def _is_handler(frame: FrameType) -> bool:
    """Python hands a handler the number of the signal and the frame that it interrupted, which is its caller."""
    arguments = list(_arguments(frame))
    interrupted = any(value is frame.f_back for value in arguments)
    if interrupted and any(isinstance(value, int) and 0 < value < signal.NSIG for value in arguments):
        return True
    return frame.f_code in _codes_of_handlers()  # its arguments may be deleted or overwritten


def _arguments(frame: FrameType) -> Iterator[Any]:
    code = frame.f_code
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    values = frame.f_locals
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]:
        value = values.get(name)
        if isinstance(value, tuple):
            yield from value
        else:
            yield value


def _codes_of_handlers() -> set[CodeType]:
    codes = set()
    for number in signals.valid_signals():
        handler: Any = signals.get_handler(number)
        while isinstance(handler, functools.partial):
            handler = handler.func
        function = getattr(handler, "__func__", handler)
        if not hasattr(function, "__code__"):
            function = inspect.getattr_static(type(handler), "__call__", None)
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            codes.add(code)
    return codes
