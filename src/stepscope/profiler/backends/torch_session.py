"""Kineto, which PyTorch's profiler records with, has one turn per process: whose it is, and how ours ends unharmed.

A turn lives in the thread that started it. Ended in another thread it gives nothing, and a second turn beside it ends
the process (as does PyTorch's profile_all_threads, where other threads work while it stops). So ours is ended in its
own thread only, and gives way as soon as PyTorch's own profiler is used. One that is still on when the interpreter ends
takes the process with it, so ours is switched off then, whatever went wrong before.

A range (``record_function``, such as that around each optimizer's step) that began in one recording and ends in another
writes into memory that is gone, and ends the process sooner or later. So ranges end with the recording they are in.
"""

from __future__ import annotations

import atexit
import functools
import gc
import itertools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from stepscope.profiler.foundation.guard import attempt
from stepscope.profiler.foundation.wrapping import named_like

#: Names in ``torch.autograd.profiler`` by which all of PyTorch's own profilers reach Kineto.
_BEGIN = ("_prepare_profiler", "_enable_profiler")
_END = "_disable_profiler"


class _Process:
    """What is known of this process."""

    watched = False
    theirs = False  # a profiler of the job's own is prepared or records
    turn: Turn | None = None  # ours, while it records
    turn_begun = False  # at some time
    children_exit = False


class _Thread(threading.local):
    """What is known of this thread."""

    ours = False  # the call under way is ours
    end: object = None


_thread = _Thread()


class Turn:
    """One recording of ours, from its preparation on; ``taken`` is called when the job's own profiler begins.

    ``recording`` says that it may be on: it is set before and taken back after, as anything may fail in between.
    """

    def __init__(self, kineto: Any, taken: Callable[[], None]) -> None:
        self.kineto = kineto
        self.recording = False
        self.lost = False
        self.left = False  # its window is over; it waits for its thread
        self._taken = weakref.WeakMethod(taken)
        self._pid = os.getpid()
        self._thread = 0
        self._prepared: list[Any] = []

    def prepare(self) -> None:
        """Make everything ready; nothing is recorded yet.

        An exception of a signal handler of the job's may come when Kineto is ready already: it has to be ended then.
        """
        _Process.turn, _Process.turn_begun = self, True
        with _as_ours():
            self.kineto.prepare_trace()
        _let_children_exit()

    def _noting(self, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call, and know that it was done, with no moment between the two at which Python looks for signals."""
        self._prepared.extend(itertools.starmap(functools.partial(call, *args, **kwargs), ((),)))
        return self._prepared[-1]

    @property
    def is_here(self) -> bool:
        """Whether this thread can end it."""
        return self._thread in (0, threading.get_ident())

    @property
    def is_inherited(self) -> bool:
        """Whether it is the parent's, and this process was forked during it."""
        return self._pid != os.getpid()

    def start(self) -> None:
        """Record this thread from now on; once only, as a second time ends the process."""
        if self._thread or self.lost or not self._prepared:
            return  # to start what is not prepared ends the process, too
        self._thread = threading.get_ident()
        self.recording = True
        try:
            attempt("torch.ranges", _end_open_ranges)  # of a recording before this one, perhaps the job's own
            with _as_ours():
                self.kineto.start_trace()
        except BaseException:
            self.recording = _is_on()
            raise
        _thread.end = _EndOfThread(self)

    def stop(self) -> None:
        """Record no more; in another thread than the first one, it goes on until that thread is there or ends."""
        if not self.recording:
            if self._thread or not self._prepared:  # it could not begin
                self._over()
        elif self.is_here and not (self.lost and _Process.theirs):
            try:
                self._switch_off()
            finally:
                self.recording = _is_on()
                self._over()

    def discard(self) -> None:
        """End it, whether it records or is only prepared."""
        self.start()  # what was prepared can only be ended by way of a start
        self.stop()
        self.left = self.recording

    def give_way(self) -> None:
        """The job's own profiler is about to begin in this thread."""
        taken = self._taken()
        if taken is not None and not self.is_inherited and not self.left:
            taken()
        self.stop()
        self.lost = self.recording or not self._thread
        self.left = self.recording
        if self.is_inherited or not self.recording:
            self._over()

    def _switch_off(self) -> None:
        attempt("torch.ranges", _end_open_ranges)
        with _as_ours():
            try:
                if self.lost:
                    self.kineto.profiler._prepare_trace()  # to end without a turn ends the process
                if self.lost or _is_on():
                    self.kineto.stop_trace()
            finally:
                _make_sure_it_is_off()

    def _over(self) -> None:
        if _Process.turn is self:
            _Process.turn = None


class _EndOfThread:
    """Lies in the thread's own storage, which Python clears in that thread as it ends."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def __del__(self) -> None:
        if not sys.is_finalizing() and self._turn.recording and not self._turn.is_inherited:
            attempt("torch.stop", self._turn.stop)


def watch() -> None:
    """See from now on when the job uses PyTorch's own profiler; called again, it does nothing."""
    if _Process.watched:
        return
    _Process.watched = True
    import torch.autograd.profiler as theirs

    for name in _BEGIN:
        setattr(theirs, name, _begins(getattr(theirs, name)))
    setattr(theirs, _END, _ends(getattr(theirs, _END)))
    _Process.theirs = _is_one_at_work(theirs.profile)
    atexit.register(settle)


def is_free() -> bool:
    """Whether Kineto can be had in this thread: nobody records or is about to."""
    settle()
    return _Process.turn is None and not _Process.theirs and not _is_on()


def is_left_in_another_thread() -> bool:
    """Whether a turn of ours, whose window is over, waits for the thread that started it."""
    return _Process.turn is not None and _Process.turn.left


def settle() -> None:
    """End what another thread could not end here, or what was forked into this process."""
    turn = _Process.turn
    if turn is None or not (turn.left or turn.is_inherited):
        return
    if turn.is_here:
        attempt("torch.stop", turn.discard)
    if turn.is_inherited:
        turn._over()


def end_before_exit() -> None:
    """The interpreter ends: nothing of ours is on after this."""
    turn = _Process.turn
    if turn is not None and not turn.is_inherited and turn.is_here:
        attempt("torch.stop", turn.discard)
    if _Process.turn_begun and not _Process.theirs:
        attempt("torch.stop", _make_sure_it_is_off)


def _is_on() -> bool:
    """Whether this thread is recorded, by whomever."""
    import torch

    return bool(torch.autograd._profiler_enabled())


def _make_sure_it_is_off() -> None:
    """What PyTorch does before it switches its profiler off may fail, such as waiting for a device in error."""
    if _is_on():
        import torch.autograd.profiler as theirs

        with _as_ours():
            getattr(theirs, _END)()


def _end_open_ranges() -> None:
    """Whoever opened a range may end it a second time, which does nothing. The last one opened ends first."""
    from torch.autograd.profiler import record_function

    ranges = _instances(record_function, gc.get_referrers(record_function))
    if len(ranges) > 1:  # the collector keeps its objects by age, the oldest in the last of its lists
        ranges = [thing for age in (2, 1, 0) for thing in _instances(record_function, gc.get_objects(age))]
    for thing in reversed(ranges):
        if getattr(thing, "record", None) is not None:
            record_function.__exit__(thing, None, None, None)


def _instances(kind: type, things: list[Any]) -> list[Any]:
    return [thing for thing in things if issubclass(type(thing), kind)]


def _let_children_exit() -> None:
    """Kineto, once used, makes a forked child wait for ever in the end of its C++ objects; such a child skips them.

    What Python itself does at an exit is done before, and the exit code stays.
    """
    if _Process.children_exit or not hasattr(os, "register_at_fork"):
        return
    _Process.children_exit = True
    import ctypes

    library = ctypes.CDLL(None)
    if not all(hasattr(library, name) for name in ("on_exit", "_exit", "fcloseall")):
        return  # only the C library of GNU hands the exit code on

    def skip() -> None:
        library.on_exit(library._exit, None)
        library.on_exit(library.fcloseall, None)  # before it: the last is called first

    os.register_at_fork(after_in_child=skip)


def _begins(original: Callable[..., Any]) -> Callable[..., Any]:
    @named_like(original)
    def begin(*args: Any, **kwargs: Any) -> Any:
        turn = _Process.turn
        if _thread.ours:
            return turn._noting(original, args, kwargs) if turn is not None else original(*args, **kwargs)
        if turn is not None:
            attempt("torch.stop", turn.give_way)
        _Process.theirs = True
        try:
            return original(*args, **kwargs)
        except BaseException:
            _Process.theirs = False
            raise

    return begin


def _ends(original: Callable[..., Any]) -> Callable[..., Any]:
    @named_like(original)
    def end(*args: Any, **kwargs: Any) -> Any:
        if not _thread.ours:
            _Process.theirs = False
        return original(*args, **kwargs)

    return end


def _is_one_at_work(kind: type) -> bool:
    """Whether the job began with its own profiler before we looked; warming up, it shows nowhere else."""
    return any(
        vars(thing).get("entered") and vars(thing).get("kineto_results") is None
        for thing in gc.get_objects()
        if issubclass(type(thing), kind)
    )


@contextmanager
def _as_ours() -> Iterator[None]:
    before, _thread.ours = _thread.ours, True
    try:
        yield
    finally:
        _thread.ours = before
