"""Stand between the two readers and the tables, so that what both tell of one rank becomes one."""

from __future__ import annotations

import json
from typing import Any, Final

import polars as pl

from stepscope.store.rank_writer import RankWriter

_MEMORY: Final = ("memory", "allocations")
#: The trace has the same marks, with what happened between them.
_TOLD_BY_TRACE: Final = ("slices", "tracks", "steps")
_WITH_STACKS: Final = ("stacks", "allocations", "segments", "memory_events")


class _Held(RankWriter):
    """Hands rows on to another writer, but for tables that are held back."""

    def __init__(self, out: RankWriter, *held: str) -> None:
        super().__init__(out.directory, out.rank)
        self._out = out
        self._held: dict[str, list[pl.DataFrame]] = {table: [] for table in held}

    def add(self, table: str, frame: pl.DataFrame) -> None:
        if table in self._held:
            self._held[table].append(frame)
        else:
            self._out.add(table, frame)

    def flush(self, table: str) -> None:
        self._out.flush(table)

    def ranks(self) -> pl.DataFrame:
        """The row of ``ranks``, which both readers write."""
        return pl.concat(self._held["ranks"])


class TraceTables(_Held):
    """What the trace tells; its memory waits until it is known what the snapshot follows."""

    def __init__(self, out: RankWriter) -> None:
        super().__init__(out, "ranks", *_MEMORY)
        self.next_stack = 0

    def add(self, table: str, frame: pl.DataFrame) -> None:
        if table == "stacks" and not frame.is_empty():
            self.next_stack = max(self.next_stack, 1 + int(frame["stack"].max() or 0))  # type: ignore[arg-type]
        super().add(table, frame)

    def write_memory(self, followed_elsewhere: set[str]) -> None:
        """Write the memory of the devices that the snapshot does not follow."""
        for table in _MEMORY:
            for frame in self._held[table]:
                if not frame.is_empty():
                    self._out.add(table, frame.filter(~pl.col("device").cast(pl.String).is_in(followed_elsewhere)))


class SnapshotTables(_Held):
    """What the snapshot tells besides marks; its stacks are numbered behind those of the trace."""

    def __init__(self, out: RankWriter, first_stack: int) -> None:
        super().__init__(out, "ranks", *_TOLD_BY_TRACE)
        self._first_stack = first_stack
        self.devices: set[str] = set()

    def add(self, table: str, frame: pl.DataFrame) -> None:
        if table in _MEMORY and not frame.is_empty():
            self.devices |= set(frame["device"].drop_nulls().cast(pl.String))
        if table in _WITH_STACKS and "stack" in frame.columns:
            frame = frame.with_columns(pl.col("stack") + self._first_stack)
        super().add(table, frame)


def rank_row(trace: pl.DataFrame, snapshot: pl.DataFrame) -> tuple[dict[str, Any], bool]:
    """The trace's row with what only the snapshot states, and whether the two were recorded at the same time."""
    own, other = trace.row(0, named=True), snapshot.row(0, named=True)
    switches = {**json.loads(other.get("switches") or "{}"), **json.loads(own.get("switches") or "{}")}
    times = [row.get(name) for row in (own, other) for name in ("first_ns", "last_ns")]
    overlaps = None in times or (own["first_ns"] <= other["last_ns"] and other["first_ns"] <= own["last_ns"])
    row = {**other, **{name: value for name, value in own.items() if value is not None}}
    return row | {"switches": json.dumps(switches, ensure_ascii=True)}, overlaps
