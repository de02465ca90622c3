"""Which steps are recorded."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from stepscope.profiler.foundation.messages import warn


class ProfilerAction(Enum):
    """What the profiler does during a step."""

    NONE = 0
    WARM_UP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class Schedule:
    """Skips ``skip_first`` steps, then repeats: ``wait`` steps idle, ``warmup`` preparing, ``active`` recorded.

    >>> plan = Schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=2)
    >>> [plan(step).name for step in range(7)]
    ['NONE', 'NONE', 'NONE', 'WARM_UP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """

    def __init__(self, *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0) -> None:
        self.wait = _at_least(0, "wait", wait, 0)
        self.active = _at_least(1, "active", active, 1)
        self.warmup = _at_least(0, "warmup", warmup, 0)
        self.repeat = _at_least(0, "repeat", repeat, 0)
        self.skip_first = _at_least(0, "skip_first", skip_first, 0)

    def __call__(self, step: int) -> ProfilerAction:
        """What to do during a step, counted from 0."""
        if step < 0:
            raise ValueError(f"step must not be negative, got {step}")
        cycle = self.wait + self.warmup + self.active
        position = step - self.skip_first
        if position < 0 or (self.repeat > 0 and position >= self.repeat * cycle):
            return ProfilerAction.NONE
        position %= cycle
        if position < self.wait:
            return ProfilerAction.NONE
        if position < self.wait + self.warmup:
            return ProfilerAction.WARM_UP
        return ProfilerAction.RECORD if position < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    @property
    def last(self) -> int | None:
        """The last step that is recorded; None where there is no last one.

        >>> Schedule(wait=1, active=2, repeat=2, skip_first=3).last, Schedule(wait=1, active=2).last
        (8, None)
        """
        cycle = self.wait + self.warmup + self.active
        return self.skip_first + self.repeat * cycle - 1 if self.repeat else None

    def to_dict(self) -> dict[str, int]:
        """The five numbers by name."""
        return {
            "wait": self.wait,
            "active": self.active,
            "warmup": self.warmup,
            "repeat": self.repeat,
            "skip_first": self.skip_first,
        }


def record_all(step: int) -> ProfilerAction:
    """The plan of a profile without schedule: one window from start to stop."""
    del step
    return ProfilerAction.RECORD


def understood(plan: Callable[[int], Any]) -> Callable[[int], ProfilerAction]:
    """A user's own plan, whose answers may be those of another profiler: taken by their names.

    >>> understood(lambda step: "WARMUP")(0)
    <ProfilerAction.WARM_UP: 1>
    """

    def asked(step: int) -> ProfilerAction:
        answer = plan(step)
        name = str(getattr(answer, "name", answer)).upper().replace("WARMUP", "WARM_UP")
        if name not in ProfilerAction.__members__:
            warn("schedule_answer", answer=repr(answer))
            return ProfilerAction.NONE
        return ProfilerAction[name]

    return plan if isinstance(plan, Schedule) or plan is record_all else asked


def _at_least(least: int, name: str, value: Any, fallback: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    warn("schedule_value", name=name, value=repr(value), least=least, fallback=fallback)
    return fallback
