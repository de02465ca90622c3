"""MindSpore's data pipeline: queues, CPU and batch times, by its engine's own profiling.

The engine must know before a pipeline is built that it may be watched, so that is said when the profile is made; it
records nothing until a window does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepscope.layout.names import FRAMEWORK_FOLDER
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.paths import make_directory
from stepscope.profiler.samplers import Sampler
from stepscope.profiler.samplers.mindspore_engine import engine
from stepscope.profiler.settings.profile_settings import Settings

if TYPE_CHECKING:
    from stepscope.profiler.recording.window import Window


class MindSporeDataset(Sampler):
    """The dataset engine's profiling manager, switched on for a window."""

    def arm(self) -> None:
        engine.expect()

    def start(self, window: Window) -> None:
        del window
        engine.start()

    def stop(self, window: Window) -> None:
        engine.stop()
        folder = window.directory / FRAMEWORK_FOLDER
        make_directory(folder)
        if not engine.save(folder) and self.settings.data_process:
            warn("dataset_not_watched")

    def disarm(self) -> None:
        engine.stop()


def make(settings: Settings) -> MindSporeDataset:
    """The sampler of a profile."""
    return MindSporeDataset(settings)
