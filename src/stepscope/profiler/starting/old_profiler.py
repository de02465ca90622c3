"""The older class ``Profiler``: all parameters flat, and ``analyse()`` at the end of the script."""

from __future__ import annotations

from typing import Any

from stepscope.profiler.foundation.guard import guarded
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.profiler import analyse, steps_of
from stepscope.profiler.recording.profile import Profile
from stepscope.profiler.settings.profile_settings import checked
from stepscope.profiler.settings.schedule import Schedule

#: Parameters that are gone, and what serves their purpose now.
_GONE = {
    "profile_communication": "profiler_level=ProfilerLevel.Level1",
    "op_time": "start_profile",
    "profile_framework": "activities",
    "host_stack": "with_stack",
    "timeline_limit": "schedule",
}


class Profiler:
    """Kept for scripts that have it; ``profile`` does more."""

    def __init__(self, **parameters: Any) -> None:
        warn("old_profiler")
        for name in [name for name in parameters if name in _GONE]:
            warn("parameter_gone", name=name, better=_GONE[name])
            parameters.pop(name)
        self._profile = Profile.of(checked(**parameters))
        self._has_schedule = isinstance(self._profile.settings.schedule, Schedule)

    def start(self) -> None:
        """Begin to record."""
        self._profile.start()

    def stop(self) -> None:
        """End the recording."""
        self._profile.stop()

    def step(self) -> None:
        """A training step has ended; only with a schedule."""
        if self._has_schedule:
            self._profile.step()
        else:
            warn("old_no_schedule")

    @guarded
    def analyse(
        self, offline_path: str | None = None, pretty: bool = False, step_list: Any = None, mode: str = "sync"
    ) -> None:
        """Stop, and write the documented files; with a schedule, ``on_trace_ready`` does that."""
        if offline_path is not None:
            analyse(offline_path, pretty=pretty, step_list=step_list)
            return
        if self._has_schedule:
            warn("old_schedule", method="analyse")
            return
        if self._profile.running:
            self._profile.stop()
        steps = steps_of(step_list)
        for window in self._profile.windows:
            window.analyse(async_mode=mode == "async", steps=steps)

    @classmethod
    def offline_analyse(
        cls, path: str, pretty: bool = False, step_list: Any = None, data_simplification: bool = True
    ) -> None:
        """Write the documented files of captures that lie at or below a path."""
        analyse(path, pretty=pretty, step_list=step_list, data_simplification=data_simplification)

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into ``profiler_metadata.json``."""
        self._profile.add_metadata(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put an object, given as JSON text, into ``profiler_metadata.json``."""
        self._profile.add_metadata_json(key, value)

    def op_analyse(self, op_name: str | list[str], device_id: int | None = None) -> None:
        """Answered by ``stepscope operators --by shape`` on the finished capture."""
        del op_name, device_id
        windows = self._profile.windows
        warn("old_op_analyse", directory=str(windows[-1].directory) if windows else "DIRECTORY")
