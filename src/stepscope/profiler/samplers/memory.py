"""Memory of this process, its children and the machine, and what PyTorch's allocator holds of a GPU."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from stepscope.layout.names import MEMORY_FILE
from stepscope.profiler.foundation.held_memory import allocated_bytes
from stepscope.profiler.samplers import Sampler
from stepscope.profiler.samplers.processes import children, machine_memory, resident_bytes
from stepscope.profiler.settings.profile_settings import Settings

if TYPE_CHECKING:
    from stepscope.profiler.recording.window import Window


class MemorySampler(Sampler):
    """One row per component and look."""

    def start(self, window: Window) -> None:
        self._streams = window.streams
        self._held = allocated_bytes()

    def sample(self, time_ns: int) -> None:
        self._process(time_ns)
        workers = [held for child in children() if (held := resident_bytes(child)) is not None]
        if workers:
            self._write(time_ns, "cpu", "workers", sum(workers))
        machine = machine_memory()
        if machine is not None:
            self._write(time_ns, "cpu", "machine", *machine)
        if self.settings.profile_memory:
            self._gpus(time_ns)

    def _process(self, time_ns: int) -> None:
        """The blocks that it holds and the pages that they lie in; the pages alone where nobody counts blocks."""
        resident = resident_bytes(os.getpid())
        if self._held is None or resident is None:
            self._write(time_ns, "cpu", "process", resident)
        else:
            held = self._held()
            self._write(time_ns, "cpu", "process", held, max(held, resident))

    def _gpus(self, time_ns: int) -> None:
        torch: Any = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_initialized():
            return
        for device in range(torch.cuda.device_count()):
            stats = torch.cuda.memory_stats_as_nested_dict(device)
            held = {name: stats.get(f"{name}_bytes", {}).get("all", {}).get("current") for name in _ALLOCATOR}
            if held["reserved"]:
                self._write(
                    time_ns, f"cuda:{device}", "caching allocator", held["allocated"], held["reserved"], held["active"]
                )

    def _write(
        self, time_ns: int, device: str, component: str, allocated: int | None, reserved: int | None = None,
        active: int | None = None,
    ) -> None:  # fmt: skip
        if allocated is not None:
            row: dict[str, Any] = {"time_ns": time_ns, "device": device, "component": component}
            row["allocated"] = allocated
            row.update({name: value for name, value in (("reserved", reserved), ("active", active)) if value})
            self._streams.write(MEMORY_FILE, row)


_ALLOCATOR = ("allocated", "reserved", "active")


def make(settings: Settings) -> MemorySampler:
    """The sampler of a profile."""
    return MemorySampler(settings)
