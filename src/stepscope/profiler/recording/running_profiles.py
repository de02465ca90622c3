"""Profiles that run, so that the end of the interpreter and a fork find them."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import TYPE_CHECKING

from stepscope.profiler import backends
from stepscope.profiler.foundation import messages
from stepscope.profiler.foundation.guard import attempt

if TYPE_CHECKING:
    from stepscope.profiler.recording.profile import Profile


class _Running:
    def __init__(self) -> None:
        self.profiles: list[weakref.ref[Profile]] = []  # one that nobody holds any more stops itself
        self.pid = os.getpid()
        self.watched = False
        self.multiprocessing_pid = 0


_running = _Running()


def enter(profile: Profile) -> None:
    """Register a profile that runs."""
    if not _running.watched:
        _running.watched = True
        _running.pid = os.getpid()
        atexit.register(_at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=forked)
    if _running.multiprocessing_pid != os.getpid() and _is_worker_process():
        from multiprocessing.util import Finalize

        _running.multiprocessing_pid = os.getpid()
        Finalize(None, _at_exit, exitpriority=100)  # a forked one ends without what is registered with atexit
    _running.profiles.append(weakref.ref(profile))


def leave(profile: Profile) -> None:
    """Forget a profile that has stopped."""
    _running.profiles = [other for other in _running.profiles if other() not in (None, profile)]


def running() -> list[Profile]:
    """All profiles that run in this process."""
    return [profile for reference in _running.profiles if (profile := reference()) is not None]


def _is_worker_process() -> bool:
    module = sys.modules.get("multiprocessing.process")
    return module is not None and module.parent_process() is not None


def _at_exit() -> None:
    """The script ended or failed inside a window: what was recorded is written before the process goes."""
    if os.getpid() != _running.pid:
        return
    for profile in running():
        # One from outside always ends here: without a failure, a window that the last step opened is empty.
        attempt("exit", profile.stop, keep=not profile.follows_optimizer or hasattr(sys, "last_value"))
    attempt("exit", backends.end_before_exit)
    parsers = sys.modules.get("stepscope.profiler.handover.parsers")
    if parsers is not None:  # what begins now is too late to be called at the end by itself
        attempt("parsing", parsers.wait_for_all)


def forked() -> None:
    """A forked child has the files of its parent's windows open, and must not finish them."""
    from stepscope.profiler.recording.window import Window

    for profile in running():
        profile._running = False
    _running.profiles = []
    _running.pid = os.getpid()
    Window.active = None
    messages.listen(None)
