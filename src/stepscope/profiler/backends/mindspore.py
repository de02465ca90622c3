"""MindSpore on a machine without accelerator: its kernel timing and memory curve, in Graph and PyNative mode."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.layout.names import FRAMEWORK_FOLDER
from stepscope.profiler.backends import Backend
from stepscope.profiler.backends.mindspore_steps import watch_steps
from stepscope.profiler.backends.switches import not_served
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.own_faults import ours
from stepscope.profiler.foundation.paths import make_directory
from stepscope.profiler.settings.enums import ProfilerLevel
from stepscope.profiler.settings.profile_settings import Settings

if TYPE_CHECKING:
    from stepscope.profiler.recording.window import Window


class MindSporeBackend(Backend):
    """The recorder of MindSpore's CPU runtime, which writes its files when it stops."""

    name = "mindspore"
    framework = "mindspore"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._mindspore: Any = importlib.import_module("mindspore")
        self._recorder: Any = None
        self._folder = Path()
        self._started = False

    def prepare(self, window: Window) -> None:
        self._folder = window.directory / FRAMEWORK_FOLDER
        if self.settings.profiler_level is ProfilerLevel.LevelNone:
            return  # marks only
        if not self.settings.on_host:
            warn("no_activity")
            return
        if records_already():
            warn("foreign_mindspore")
            return
        make_directory(self._folder)
        self._recorder = importlib.import_module("mindspore._c_expression").Profiler.get_instance("CPU")

    def start(self) -> None:
        if self._recorder is None:
            return
        synchronise()
        self._recorder.init(str(self._folder), 0, "")
        self._recorder.step_profiling_enable(True)
        self._recorder.enable_op_time()
        if self.settings.profile_memory:
            self._recorder.enable_profile_memory()
        self._started = True

    def end_step(self, step: int) -> None:
        """Operators run behind the script; a step has ended when they have."""
        del step
        if self._started:
            synchronise()

    def stop(self) -> None:
        if self._started:
            self._started = False
            synchronise()
            self._recorder.stop()

    def discard(self) -> None:
        self.stop()

    def describe(self) -> dict[str, Any]:
        versions = {"mindspore": str(self._mindspore.__version__), "python": sys.version.split()[0]}
        return {"versions": versions, "device": {"kind": "cpu"}}

    def unsupported(self) -> Iterable[str]:
        return not_served(self.settings, ("with_stack",))

    def watch_optimizer(self, on_step: Callable[[int], None]) -> Callable[[], None]:
        return watch_steps(on_step)


def synchronise() -> None:
    """Wait for the operators that PyNative mode still has in its queue."""
    for module in ("mindspore.graph.api", "mindspore.common.api"):  # the second until MindSpore 2.8
        try:
            executor = importlib.import_module(module)._pynative_executor
        except ours(ImportError, AttributeError):
            continue
        executor.sync()
        return


def records_already() -> bool:
    """Whether MindSpore's own profiler is at work in this process."""
    theirs: Any = sys.modules.get("mindspore.profiler.profiler_interface")
    return theirs is not None and bool(getattr(theirs.ProfilerInterface, "is_initialized", False))


def make(settings: Settings) -> Backend:
    """The backend for the device that MindSpore runs on."""
    mindspore: Any = importlib.import_module("mindspore")
    if mindspore.get_context("device_target") == "Ascend" and settings.on_device:
        from stepscope.profiler.backends.mindspore_ascend import AscendBackend

        return AscendBackend(settings)
    return MindSporeBackend(settings)
