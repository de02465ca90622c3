"""What is to be stored: the window of a capture, with the state of each of its sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stepscope.readers.discovery.source import Source
from stepscope.readers.discovery.windows import Window


@dataclass(frozen=True)
class Wanted:
    """A window, and a fingerprint of each of its sources: several ranks may lie in one directory."""

    paths: list[Path]
    window: Window
    prints: dict[Source, str]

    def contents(self) -> set[tuple[int, str, str]]:
        """Rank, path and fingerprint of each source, as the parts of a stored run name them."""
        return {(source.rank or 0, str(source.path), self.prints[source]) for source in self.window.sources}
