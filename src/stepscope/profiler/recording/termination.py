"""SIGTERM while a window records: the window is saved first, then the process ends as it would have.

Only where the job left the signal at its default. The handler is there while a window records, and no longer.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from stepscope.profiler.foundation import signals
from stepscope.profiler.foundation.guard import attempt
from stepscope.profiler.foundation.main_thread import call_in_main_thread, is_main_thread
from stepscope.profiler.handover import parsing

if TYPE_CHECKING:
    from stepscope.profiler.recording.profile import Profile

_SIGNAL = signal.SIGTERM
WHY = "terminated"
#: How long a window that another thread opened is waited for; it ends there with its step.
_PATIENCE_S, _LOOK_S = 5.0, 0.02


class _State:
    """Profiles whose window records or is not written yet; one that nobody holds any more stops itself."""

    profiles: tuple[weakref.ref[Profile], ...] = ()
    watches_forks = False


def guard_window(profile: Profile) -> None:
    """A window of this profile records from now on."""
    _State.profiles = (*_State.profiles, weakref.ref(profile))
    if is_main_thread():
        _install()
    else:
        call_in_main_thread("SIGTERM", _install)


def release_window(profile: Profile) -> None:
    """It does not any more."""
    _State.profiles = tuple(other for other in _State.profiles if other() not in (None, profile))
    if not _State.profiles and is_main_thread():
        _uninstall()


class _BeforeFork(threading.local):
    """The signals that this thread held back before it forked."""

    mask: set[int] | None = None


_before_fork = _BeforeFork()


def _watch_forks() -> None:
    """Python forgets signals that reach a child before it is set up; held back until then, they end it as they would
    without us."""
    if _State.watches_forks or not hasattr(os, "register_at_fork") or signals.change_mask is None:
        return
    _State.watches_forks = True
    os.register_at_fork(before=_hold_back, after_in_parent=_let_through, after_in_child=_in_child)


def _hold_back() -> None:
    if signals.get_handler(_SIGNAL) is _on_signal:
        _before_fork.mask = signals.change_mask(signal.SIG_BLOCK, [_SIGNAL])


def _let_through() -> None:
    mask, _before_fork.mask = _before_fork.mask, None
    if mask is not None:
        signals.change_mask(signal.SIG_SETMASK, mask)


def _in_child() -> None:
    """A forked child has no window; it ends as it would without us."""
    _State.profiles = ()
    _uninstall()
    _let_through()


def _recording() -> list[Profile]:
    return [profile for reference in _State.profiles if (profile := reference()) is not None]


def _install() -> None:
    if _State.profiles and signals.get_handler(_SIGNAL) is signals.SIG_DFL:
        _watch_forks()
        signals.set_handler(_SIGNAL, _on_signal)


def _uninstall() -> None:
    if signals.get_handler(_SIGNAL) is _on_signal:
        signals.set_handler(_SIGNAL, signals.SIG_DFL)


def _on_signal(number: int, frame: Any) -> None:
    del frame
    busy = next((profile for profile in _recording() if profile.own_time.is_here), None)
    if busy is None:
        _save_and_end(number)
    else:
        busy.own_time.when_free(lambda: _save_and_end(number))


def _save_and_end(number: int) -> None:
    # A handler of the job's that was set after ours and calls what was there before decides itself.
    ours = signals.get_handler(number) is _on_signal
    for profile in _recording():
        attempt("SIGTERM", _save, profile)
    if ours:
        signals.set_handler(number, signals.SIG_DFL)
        os.kill(os.getpid(), number)


def _save(profile: Profile) -> None:
    parsing.leave_to_later()  # whoever ends a job does not wait long
    if profile.records_here:
        profile.cut(WHY)
        return
    profile.end_window(WHY)
    end = time.monotonic() + _PATIENCE_S
    while profile in _recording() and time.monotonic() < end:
        time.sleep(_LOOK_S)
