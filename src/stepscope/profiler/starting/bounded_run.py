"""A recording from outside has an end: which steps of the script, or how much of its time, and what at most."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stepscope.layout import window_limits
from stepscope.profiler import backends
from stepscope.profiler.foundation.line_files import absolute
from stepscope.profiler.foundation.main_thread import call_in_main_thread, is_main_thread
from stepscope.profiler.foundation.messages import tell, warn
from stepscope.profiler.foundation.rank_identity import identity
from stepscope.profiler.recording.limits import Limits
from stepscope.profiler.settings.schedule import Schedule
from stepscope.profiler.starting.made_captures import are_steps_recorded_since

if TYPE_CHECKING:
    from stepscope.profiler.recording.profile import Profile

_NUMBERS = ("wait", "active", "warmup", "repeat", "skip_first")
_LOOK_S = 0.5
#: Of a core: less is the noise of a process that waits.
_BUSY_SHARE = 0.05
DEFAULT_WINDOW = {
    "skip_first": window_limits.SKIPPED_STEPS,
    "wait": 0,
    "warmup": window_limits.WARM_UP_STEPS,
    "active": window_limits.RECORDED_STEPS,
    "repeat": 1,
}
DEFAULT_LIMITS = {"seconds": window_limits.MOST_SECONDS, "megabytes": window_limits.MOST_MEGABYTES}


@dataclass(frozen=True)
class Plan:
    """What is recorded: all where there is no schedule."""

    schedule: Schedule | None = None
    limits: Limits | None = None
    waits_for_steps: bool = False


def plan_of(options: dict[str, Any], steps_done: int = 0) -> Plan:
    """The plan that a launcher's options ask for; without ``schedule`` and ``all``, the default window.

    >>> plan_of({}).schedule.last, plan_of({"all": True}).schedule
    (25, None)
    >>> plan_of({"schedule": {"active": 2, "repeat": 1}}).schedule.last
    1
    """
    numbers = options.get("schedule")
    if not isinstance(numbers, dict):
        if options.get("all") is True:
            return Plan()
        numbers = DEFAULT_WINDOW
    for name in sorted(set(numbers) - set(_NUMBERS)):
        warn("parameter_unknown", name=f"schedule.{name}")
    known = {"wait": 0, "active": 1, **{name: value for name, value in numbers.items() if name in _NUMBERS}}
    if steps_done and not any(known.get(name) for name in ("skip_first", "wait", "warmup")):
        known["skip_first"] = steps_done  # as many steps, where the schedule would have recorded those that are over
    limits = options.get("limits", {} if options.get("all") is True else DEFAULT_LIMITS)
    return Plan(Schedule(**known), Limits.of(limits), not steps_done)


def announce(plan: Plan, output: str) -> None:
    """Say what will be recorded, once for all ranks."""
    if identity().rank != 0 or plan.schedule is None or plan.limits is None:
        return
    schedule = plan.schedule
    tell(
        "records_window" if schedule.repeat == 1 else "records_windows",
        repeat=schedule.repeat or "∞",
        active=schedule.active,
        skipped=schedule.skip_first + schedule.wait + schedule.warmup,
        output=str(absolute(output)),
        seconds="∞" if plan.limits.seconds is None else f"{plan.limits.seconds:g}",
        megabytes="∞" if plan.limits.megabytes is None else f"{plan.limits.megabytes:g}",
    )


def record_time_without_steps(profile: Profile, after_s: float = window_limits.NO_STEPS_AFTER_S) -> None:
    """Where no optimizer makes a step for so long, record some time instead of steps."""
    if is_main_thread():
        watch = _NoSteps(profile, after_s)
        threading.Thread(target=watch.wait, name="stepscope-steps", daemon=True).start()


class _NoSteps:
    """Waits for the first step beside the script; the window is opened, and ends, in the script's own thread.

    A process that only waits, such as one that has spawned the ranks and joins them, has nothing to record.
    """

    def __init__(self, profile: Profile, after_s: float) -> None:
        self._profile = profile
        self._after_s = after_s
        self._looks = max(1, round(after_s / _LOOK_S))
        self._never = threading.Event()
        self._since_s = time.time()
        self._output = absolute(profile.settings.output_path)

    def wait(self) -> None:
        """Until there is a step, the profile is over, or the time is and the process does something."""
        look_s = self._after_s / self._looks
        for look in itertools.count(1):
            used_s = time.process_time()
            self._never.wait(look_s)
            if not self._is_waiting:
                return
            if look >= self._looks and time.process_time() - used_s >= _BUSY_SHARE * look_s:
                break
        call_in_main_thread("window", self._record)

    @property
    def _is_waiting(self) -> bool:
        return self._profile.running and self._profile.step_num == 0

    def _record(self) -> None:
        """A window of its own, beside the profile that goes on waiting for steps; the first of them ends it."""
        settings = self._profile.settings
        if not self._is_waiting or are_steps_recorded_since(self._since_s, self._output):
            return  # others of this command train, and were recorded
        seconds = window_limits.RECORDED_SECONDS
        tell("no_steps_seen", waited=round(self._after_s), seconds=seconds)
        by_time = type(self._profile).of(replace(settings, schedule=None, start_profile=False))
        by_time.limits = Limits(seconds, window_limits.MOST_MEGABYTES, cut_at=1)
        end_watch = backends.choose(settings).watch_optimizer(lambda optimizer: drop(by_time))

        def drop(window: Profile) -> None:
            end_watch()
            if window.running:
                window.abandon()

        by_time.start()
