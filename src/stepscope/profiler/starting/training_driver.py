"""Drives a profile, or a monitor, by the step numbers that a trainer tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepscope.profiler.dynamic.monitor import DynamicProfilerMonitor
from stepscope.profiler.foundation.guard import guarded
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.handover.trace_handler import TraceHandler
from stepscope.profiler.recording.profile import Profile
from stepscope.profiler.settings.schedule import Schedule


class TrainingDriver:
    """Takes a profile or a monitor; or ``start_step`` and ``stop_step``, both included and counted from 1, with the
    parameters of a profile."""

    @guarded
    def __init__(self, profiler: Any = None, start_step: Any = None, stop_step: Any = None, **parameters: Any) -> None:
        self.profiler: Any = profiler
        self._first: int | None = None
        self._seen: tuple[int, int] | None = None  # the first and the last step without a recording
        if profiler is None:
            self.profiler = self._profile_of_steps(start_step, stop_step, parameters)
        elif not isinstance(profiler, (Profile, DynamicProfilerMonitor)):
            warn("callback_profiler", value=repr(profiler)[:100])
            self.profiler = None

    @guarded
    def begin(self) -> None:
        """The training begins."""
        if isinstance(self.profiler, Profile) and self._first is None and not self.profiler.running:
            self.profiler.start()

    @guarded
    def begin_step(self, number: Callable[[], int]) -> None:
        """A step begins."""
        if isinstance(self.profiler, DynamicProfilerMonitor):
            self.profiler.begin_step(number())
        elif self._first is not None and not self.profiler.running:
            now = number()
            self._seen = (self._seen or (now, now))[0], now
            if now == self._first:
                self.profiler.step_num = self._first
                self.profiler.start()

    @guarded
    def end_step(self, number: Callable[[], int]) -> None:
        """A step ended."""
        if isinstance(self.profiler, DynamicProfilerMonitor):
            self.profiler.end_step(number())
        elif self.profiler is not None and self.profiler.running:
            self.profiler.step()

    @guarded
    def end(self, keep: bool = False) -> None:
        """The training is over, or failed."""
        if isinstance(self.profiler, DynamicProfilerMonitor) or (self.profiler is not None and self.profiler.running):
            self.profiler.stop(keep=keep)
        elif self._seen is not None and self.profiler.step_num == 0:
            warn("start_step_missed", first=self._seen[0], last=self._seen[1], start=self._first)

    def _profile_of_steps(self, start: Any, stop: Any, parameters: dict[str, Any]) -> Profile | None:
        numbers = [value for value in (start, stop) if isinstance(value, int) and not isinstance(value, bool)]
        if len(numbers) != 2 or not 0 < numbers[0] <= numbers[1]:
            warn("callback_steps", start=repr(start)[:50], stop=repr(stop)[:50])
            return None
        self._first = numbers[0]
        parameters.setdefault("on_trace_ready", TraceHandler(parameters.get("output_path"), None, True, False))
        parameters["start_profile"] = False
        parameters["schedule"] = Schedule(
            wait=0, active=numbers[1] - numbers[0] + 1, repeat=1, skip_first=numbers[0]
        )  # the step counter begins at the training's own number
        return Profile(**parameters)
