"""What a reader is given with the files of one rank: where its rows go, what is noted, and who is told of progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from stepscope.readers.discovery.source import Source
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

OnRead = Callable[[int], None]


@dataclass(frozen=True)
class Reading:
    """One rank while it is read. ``on_read`` is told the bytes that were taken from disk."""

    source: Source
    out: RankWriter
    notes: Notes
    on_read: OnRead | None = None

    def part(self, source: Source, out: RankWriter) -> Reading:
        """For another reader that reads a part of the capture; its rows go to ``out``."""
        return replace(self, source=source, out=out)

    def took(self, count: int) -> None:
        """Tell of bytes that were read."""
        if self.on_read is not None:
            self.on_read(count)

    def unobserved(self) -> Reading:
        """For a file that is read a second time: progress counts it once."""
        return replace(self, on_read=None)
