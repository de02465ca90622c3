"""Samplers: what watches the process beside the operators. One file each; this module holds their protocol.

A sampler lives as long as a profile is started, over all its windows::

    arm()            the profile starts: what must be in place before a window (hooks into data loaders, MindSpore's
                     pipeline profiling) is put there; costs nothing measurable while no window is open
    start(window)    a window records; write with window.streams.write(file name of layout.names, record)
    sample(time_ns)  every SAMPLING_S seconds while a window records, from the sampling thread, and once at each end
    stop(window)     the window ends; may add files to window.raw or window.directory/FRAMEWORK
    disarm()         the profile stops; everything is as it was before arm()

Each may raise; the caller turns that into one warning and drops the sampler.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
from typing import TYPE_CHECKING

from stepscope.profiler.foundation.flag import Flag
from stepscope.profiler.foundation.guard import attempt
from stepscope.profiler.samplers.mindspore_engine import expect_pipeline

if TYPE_CHECKING:
    from stepscope.profiler.recording.window import Window
    from stepscope.profiler.settings.profile_settings import Settings

SAMPLING_S = 0.1
#: A look takes less than a millisecond; one that hangs in the file system is left behind.
_PATIENCE_S = 5.0

#: Sampler modules, and the framework whose import makes each useful; None: always.
_MODULES = {
    "cpu": None,
    "memory": None,
    "torch_dataloader": "torch",
    "mindspore_dataset": "mindspore",
}


class Sampler:
    """What a sampler may do; each does what it needs."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def arm(self) -> None:
        """The profile starts."""

    def start(self, window: Window) -> None:
        """A window records."""

    def sample(self, time_ns: int) -> None:
        """Look once."""

    def stop(self, window: Window) -> None:
        """The window ends."""

    def disarm(self) -> None:
        """The profile stops."""


class Samplers:
    """The samplers of one profile, and the thread that lets them look."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._all: dict[str, Sampler] = {}
        self._thread: threading.Thread | None = None
        self._done = Flag()
        if settings.on_host:
            expect_pipeline()

    def arm(self) -> None:
        """Put hooks in place; called again, it adds those of a framework that was imported meanwhile."""
        for name, framework in _MODULES.items():
            if name not in self._all and (framework is None or framework in sys.modules) and self._settings.on_host:
                attempt(name, self._add, name)

    def start(self, window: Window) -> None:
        """A window records from now on."""
        self.arm()
        self._call_all("start", window)
        self._call_all("sample", time.time_ns())
        self._done.set()  # of a start that was interrupted
        self._done = Flag()
        self._thread = threading.Thread(target=self._look, args=(self._done,), name="stepscope-sampler", daemon=True)
        self._thread.start()

    def stop(self, window: Window) -> None:
        """The window records no more."""
        self._done.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(_PATIENCE_S)
        self._thread = None
        self._call_all("sample", time.time_ns())
        self._call_all("stop", window)

    def disarm(self) -> None:
        """Take all hooks away."""
        self._call_all("disarm")
        self._all.clear()

    def _add(self, name: str) -> None:
        sampler = importlib.import_module(f"stepscope.profiler.samplers.{name}").make(self._settings)
        if sampler is not None:
            sampler.arm()
            self._all[name] = sampler

    def _look(self, done: Flag) -> None:
        while not done.wait(SAMPLING_S):
            self._call_all("sample", time.time_ns())

    def _call_all(self, method: str, *args: object) -> None:
        for name, sampler in list(self._all.items()):
            if not attempt(f"{name}.{method}", getattr(sampler, method), *args) and method != "disarm":
                self._all.pop(name, None)
                attempt(f"{name}.disarm", sampler.disarm)
