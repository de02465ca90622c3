"""Use of processors by the machine, this process and its children, from the operating system."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from stepscope.layout.names import CPU_FILE
from stepscope.profiler.samplers import Sampler
from stepscope.profiler.samplers.processes import Used, children, machine_use, own_use, use_of, waited_ns
from stepscope.profiler.settings.profile_settings import Settings

if TYPE_CHECKING:
    from stepscope.profiler.recording.window import Window


class CpuSampler(Sampler):
    """One row per scope and look: cores used since the look before (1.0 is one core all the time)."""

    def start(self, window: Window) -> None:
        self._streams = window.streams
        self._before: dict[tuple[str, int], Used] = {}
        self._waited: dict[str, int] | None = None
        self._looked_ns = 0

    def sample(self, time_ns: int) -> None:
        looked = {("machine", 0): machine_use(), ("process", os.getpid()): own_use()}
        looked.update({("worker", child): use_of(child) for child in children()})
        now = {key: used for key, used in looked.items() if used is not None}
        waited, waited_before = waited_ns(), self._waited
        elapsed = time_ns - self._looked_ns
        if self._looked_ns and elapsed > 0:
            for (scope, number), used in now.items():
                before = self._before.get((scope, number))
                if before is not None:
                    row = _row(time_ns, scope, number, before, used, elapsed)
                    if scope == "process" and waited is not None and waited_before is not None:
                        row["waiting"] = round(_more(waited, waited_before) / elapsed, 4)
                    self._streams.write(CPU_FILE, row)
        self._before, self._waited, self._looked_ns = now, waited, time_ns


def _row(time_ns: int, scope: str, number: int, before: Used, used: Used, elapsed: int) -> dict[str, Any]:
    row: dict[str, Any] = {"time_ns": time_ns, "scope": scope, "id": number, "dur_ns": elapsed}
    for index, name in enumerate(("user", "system", "io", "idle")):
        now, then = used[index], before[index]
        if now is not None and then is not None:
            row[name] = round((now - then) / elapsed, 4)
    if used.runnable is not None:
        row["runnable"] = used.runnable
    if used.context_switches is not None and before.context_switches is not None:
        row["context_switches"] = used.context_switches - before.context_switches
    return row


def _more(now: dict[str, int], before: dict[str, int]) -> int:
    """What all threads together waited since the look before; those that ended meanwhile do not tell."""
    return sum(max(0, waited - before.get(thread, 0)) for thread, waited in now.items())


def make(settings: Settings) -> CpuSampler:
    """The sampler of a profile."""
    return CpuSampler(settings)
