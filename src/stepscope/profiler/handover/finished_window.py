"""A window that is on disk: what ``on_trace_ready`` is given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.profiler.handover import parsing

if TYPE_CHECKING:
    from stepscope.profiler.settings.profile_settings import Settings


class FinishedWindow:
    """Where a window lies, and how to have it parsed."""

    def __init__(self, directory: Path, rank: int, settings: Settings) -> None:
        self.directory = directory
        self.rank = rank
        self.settings = settings
        self.world_size = 1
        self.steps = 0
        self.seconds = 0.0
        self.stopped_ns = 0
        self.handed_over = False
        self.announced = False

    def analyse(self, async_mode: bool = False, steps: list[int] | None = None) -> None:
        """Write the documented files, in a process of its own; ``async_mode`` does not wait for it."""
        # One rank speaks for all. Where the training waits, the last line of the recording tells that it is parsed,
        # unless it was said before.
        speaks = self.rank == 0
        parsing.parse(
            self.directory,
            wait=not async_mode,
            simplify=self.settings.data_simplification,
            steps=steps,
            tell_begin=speaks,
            tell_end=speaks and (async_mode or self.announced),
        )

    def __repr__(self) -> str:
        return f"FinishedWindow({str(self.directory)!r}, rank={self.rank})"
