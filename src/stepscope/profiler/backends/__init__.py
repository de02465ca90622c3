"""Backends: what records the operators of one framework. One file each; this module holds their protocol.

A backend lives for one window. The window calls, in this order and each at most once::

    prepare(window)        warm-up begins: the directory is there, nothing is recorded yet
    start()                recording begins
    begin_step(n) / end_step(n)    around each step, only while recording
    stop()                 recording ends; synchronises the device first
    save()                 writes its raw files into window.raw or window.directory/FRAMEWORK
    discard()              instead of save(): throw away what was recorded

Each may raise; the window turns that into one warning and goes on without the backend. ``describe()`` and
``unsupported()`` may be called at any time. Nothing here imports a framework: a backend does so when it is made, and it
is made only where the framework has been imported by the job already.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from stepscope.profiler.foundation.messages import warn

if TYPE_CHECKING:
    from stepscope.profiler.recording.window import Window
    from stepscope.profiler.settings.profile_settings import Settings

#: In the order in which they are asked for; each names the module whose import tells that the job uses it.
FRAMEWORKS = {"mindspore": "mindspore", "torch": "torch"}

#: Chooses where a job imports both frameworks.
CHOICE = "STEPSCOPE_BACKEND"


class Backend:
    """What a backend may do; each does what it can, the rest does nothing."""

    name = "plain"
    framework: str | None = None

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def prepare(self, window: Window) -> None:
        """Warm-up begins."""

    def start(self) -> None:
        """Recording begins."""

    def begin_step(self, step: int) -> None:
        """A step begins inside the recording."""

    def end_step(self, step: int) -> None:
        """It ends."""

    def stop(self) -> None:
        """Recording ends."""

    def save(self) -> None:
        """Write what was recorded."""

    def discard(self) -> None:
        """Throw away what was recorded."""

    def describe(self) -> dict[str, Any]:
        """For ``stepscope.json``: ``versions`` (of framework, driver, runtime) and ``device`` (kind, name, index,
        memory_capacity, compute_units, whatever is known)."""
        return {"versions": {"python": sys.version.split()[0]}, "device": {"kind": "cpu"}}

    def unsupported(self) -> Iterable[str]:
        """Names of switches that are set and that this backend cannot serve; ``switches.json`` has their sentences."""
        return ()

    def watch_optimizer(self, on_step: Callable[[int], None]) -> Callable[[], None]:
        """Call ``on_step(number of the optimizer)`` after each optimizer step; returns what ends the watching."""
        del on_step
        return _nothing


def choose(settings: Settings) -> Backend:
    """The backend for the framework that this process has imported, else the plain one."""
    wanted = os.environ.get(CHOICE, "")
    present = [name for name, module in FRAMEWORKS.items() if module in sys.modules]
    if wanted and wanted not in (*FRAMEWORKS, "plain"):
        warn("backend_unknown", variable=CHOICE, value=wanted, known=", ".join((*FRAMEWORKS, "plain")))
    if wanted in (*FRAMEWORKS, "plain"):
        name = wanted
    elif len(present) > 1:
        name = present[0]
        warn("two_frameworks", chosen=name, other=present[1], variable=CHOICE)
    else:
        name = present[0] if present else "plain"
    made: Backend = importlib.import_module(f"stepscope.profiler.backends.{name}").make(settings)
    return made


def settle() -> None:
    """End what an earlier window had to leave to the thread that this one is."""
    session = sys.modules.get("stepscope.profiler.backends.torch_session")
    if session is not None:
        session.settle()


def end_before_exit() -> None:
    """The interpreter ends: no recorder of a framework is on after this."""
    session = sys.modules.get("stepscope.profiler.backends.torch_session")
    if session is not None:
        session.end_before_exit()


def _nothing() -> None:
    return None
