"""How much one window may take. It ends with its step once it is over a limit; a step that does not end is cut."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepscope.layout.window_limits import CUT_AT_TIMES
from stepscope.profiler.foundation.flag import Flag
from stepscope.profiler.foundation.held_memory import measure_of_held_memory
from stepscope.profiler.foundation.main_thread import call_in_main_thread, is_main_thread
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.own_faults import ours

_LOOK_S = 0.2
#: The reasons, as they stand in ``stepscope.json``.
TIME, SIZE = "time_limit", "size_limit"


@dataclass(frozen=True)
class Limits:
    """Of one window; None is no limit. ``cut_at`` times over it, the window does not wait for its step to end."""

    seconds: float | None = None
    megabytes: float | None = None
    cut_at: float = CUT_AT_TIMES

    @classmethod
    def of(cls, given: Any) -> Limits:
        """Limits from the options of a launcher; what cannot be used is named and left out."""
        usable: dict[str, float] = {}
        for name, value in (given if isinstance(given, dict) else {}).items():
            if name in ("seconds", "megabytes") and type(value) in (int, float) and value > 0:
                usable[name] = value
            else:
                warn("parameter_ignored", name=f"limits.{name}", value=repr(value)[:100], expected="a number above 0")
        return cls(**usable)

    def over(self, seconds: float, held_bytes: int, times: float = 1) -> str | None:
        """The limit that is exceeded so many times, if one is.

        >>> Limits(seconds=60, megabytes=200).over(70, 0), Limits(megabytes=200).over(70, 300_000_000, times=2)
        ('time_limit', None)
        """
        if self.seconds is not None and seconds >= self.seconds * times:
            return TIME
        if self.megabytes is not None and held_bytes >= self.megabytes * 1e6 * times:
            return SIZE
        return None


class LimitWatch:
    """Of one window that records: asked at each step, and a thread beside the training for steps that do not end.

    What the recording holds is the growth of the memory in use since it began, and the files that are written already.
    The training's own memory comes and goes within a step; between steps it is about the same.
    """

    def __init__(self, limits: Limits, folder: Path, cut: Callable[[str], None]) -> None:
        self._limits = limits
        self._folder = folder
        self._cut = cut
        self._began_s = time.monotonic()
        self._memory = measure_of_held_memory()
        self._held_before = self._memory()
        self._over = Flag()
        if is_main_thread():  # only there can a window be cut from outside
            thread = threading.Thread(target=self._look, name="stepscope-limits", daemon=True)
            thread.start()

    def reached(self, times: float = 1) -> str | None:
        """The limit that the window is over, if it is."""
        held = max(0, self._memory() - self._held_before) + _files_bytes(self._folder)
        return self._limits.over(time.monotonic() - self._began_s, held, times)

    def end(self) -> None:
        """The window is over."""
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(_LOOK_S):
            why = self.reached(self._limits.cut_at)
            if why is not None:
                call_in_main_thread("limit", lambda why=why: self._end_now(why))  # type: ignore[misc]
                return

    def _end_now(self, why: str) -> None:
        if not self._over.is_set():
            self._cut(why)


def _files_bytes(folder: Path) -> int:
    try:
        with os.scandir(folder) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.is_file())
    except ours(OSError):
        return 0
