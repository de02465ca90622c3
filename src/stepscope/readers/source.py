"""What one reader reads as one rank."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A file, or a directory whose ``files`` belong together.

    ``reader`` names the module ``stepscope.readers.<reader>`` whose ``read(source, out, notes, on_read)`` reads it.
    """

    path: Path
    reader: str
    rank: int | None
    files: tuple[Path, ...]  # all that is read: a change in one of them makes the rank be read again
    world_size: int | None = None
    worker: str | None = None  # process that wrote it, where the name tells
    span: int | None = None  # orders the captures of one worker
    form: str | None = None  # "text" or "db", where a rank was written in both
    completeness: int = 0  # of two forms, the one with more is read unless the user chooses

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)
