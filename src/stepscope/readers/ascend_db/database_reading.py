"""The database of one rank while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stepscope.readers.ascend_db.strings import Strings
from stepscope.readers.ascend_db.timeline import DatabaseTimeline
from stepscope.readers.sqlite.database import Database
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter


@dataclass(frozen=True)
class DatabaseReading:
    """Its tables and texts, the timeline that they make, and where rows and remarks go."""

    database: Database
    strings: Strings
    out: RankWriter
    notes: Notes
    timeline: DatabaseTimeline = field(default_factory=DatabaseTimeline)

    def note(self, code: str, *, count: int = 1, **params: Any) -> None:
        """A remark on this database."""
        self.notes.add(code, file=self.database.file, count=count, **params)
