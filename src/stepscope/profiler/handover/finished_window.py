"""A window that is on disk: what ``on_trace_ready`` is given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.profiler.settings.profile_settings import Settings


class FinishedWindow:
    """Where a window lies, and how to have it parsed."""

    def __init__(self, directory: Path, rank: int, settings: Settings) -> None:
        self.directory = directory
        self.rank = rank
        self.settings = settings
        self.handed_over = False

    def analyse(self, async_mode: bool = False) -> None:
        """Write the documented files, in a process of its own; ``async_mode`` does not wait for it."""
        from stepscope.profiler.handover.parsing import parse

        parse(self.directory, wait=not async_mode, simplify=self.settings.data_simplification)

    def __repr__(self) -> str:
        return f"FinishedWindow({str(self.directory)!r}, rank={self.rank})"
