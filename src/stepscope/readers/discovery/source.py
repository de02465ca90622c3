"""What one reader reads as one rank."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: What a timeline adds to how complete a form is: more than all tables that sum something up.
WITH_TIMELINE: Final = 1000

RANK_IN_NAME: Final = re.compile(r"rank[-_.]?(\d{1,9})", re.IGNORECASE)


def named_rank(path: Path) -> int | None:
    """The rank that a file's name tells, else its directory's.

    >>> named_rank(Path("run/trace_rank3.json")), named_rank(Path("rank-1/trace.json")), named_rank(Path("trace.json"))
    (3, 1, None)
    """
    ranks = RANK_IN_NAME.findall(path.name) or RANK_IN_NAME.findall(path.parent.name)
    return int(ranks[-1]) if ranks else None


@dataclass(frozen=True)
class Source:
    """A file, or a directory whose ``files`` belong together.

    ``reader`` names the reader of ``stepscope.readers.formats`` that reads it.
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
    part: int | None = None  # which process, where a file holds several
    is_damaged: bool = False  # no capture by its content, but called like those beside it
    graph_captures: tuple[Path, ...] = ()  # traces in which the graphs that this one launches were captured

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)
