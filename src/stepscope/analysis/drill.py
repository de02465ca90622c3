"""From a module to its operators, from an operator to its kernels, from a kernel to its slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.longest import longest_slices
from stepscope.analysis.foundation.question import AtLeast, OneOf, question
from stepscope.analysis.foundation.units import Count, Identifier, Microseconds, Nanoseconds, Share
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE, COPY, ranks_of
from stepscope.analysis.operators.executed import device_work, host_work
from stepscope.analysis.operators.groups import described
from stepscope.errors import NoAnswerError, UsageError
from stepscope.store.run_store import RunStore

_NEXT: Final = {
    "module": "operator",
    "category": "operator",
    "operator": "kernel",
    "type": "kernel",
    "core": "kernel",
    "kernel": "slice",
}
_COLUMN: Final = {"kernel": "name"}
_LANES: Final = (COMPUTE, COMMUNICATION, COPY, "all")


class Part(msgspec.Struct, frozen=True):
    """One entry of the next level."""

    name: str | None
    count: Count
    total_us: Microseconds
    avg_us: Microseconds
    max_us: Microseconds
    share: Share | None


class Executed(msgspec.Struct, frozen=True):
    """One slice, as ``slices`` numbers it."""

    rank: Identifier
    slice: Identifier
    name: str
    operator: str | None
    module: str | None
    step: Identifier | None
    start_ns: Nanoseconds
    duration_us: Microseconds


class Drill(msgspec.Struct, frozen=True):
    """What a row of ``operators`` consists of: the next level, and its longest slices."""

    by: str | None
    name: str | None
    next: str
    side: str
    count: Count
    total_us: Microseconds
    parts: list[Part]
    slices: list[Executed]


@question()
def drill(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    by: Annotated[str | None, OneOf(*_NEXT)] = None,
    name: str | None = None,
    module: str | None = None,
    operator: str | None = None,
    lane: Annotated[str | None, OneOf(*_LANES)] = None,
    limit: Annotated[int, AtLeast(1)] = 100,
) -> Answer[Drill]:
    """What is behind the row ``name`` of ``operators``; ``module`` and ``operator`` keep to where one came from.

    Without a row it starts at the top, with modules where they were recorded. An empty name is that of the row without
    one. ``lane`` means what it means in ``operators``.
    """
    if by is None and name is not None:
        raise UsageError("name_without_by", name=name, choices=", ".join(_NEXT))
    lane = lane or ("all" if by == "category" else COMPUTE)
    asked = ((by or "", name), ("operator", operator), ("module", module))
    kept = [(column, value) for column, value in asked if value is not None]
    frames = []
    sides = set()
    for rank in ranks_of(store, ranks):
        rows, side = device_work(store, rank, steps, detailed=True), "device"
        if rows.is_empty():
            rows, side = host_work(store, rank, steps), "host"
        rows = described(rows if lane == "all" else rows.filter(pl.col("lane") == lane)).with_columns(_texts())
        for column, value in kept:
            rows = rows.filter(_within(column, value))
        if len(rows):
            frames.append(rows.with_columns(rank=pl.lit(rank, pl.Int64)))
            sides.add(side)
    if not frames:
        if not kept:
            raise NoAnswerError("no_operators")
        column, value = kept[0]
        raise NoAnswerError("no_such_row", by=column, name=value or "?")
    rows_behind = pl.concat(frames)
    top = by is None or name is None
    level = _top(rows_behind) if top else _NEXT[by or ""]
    side = "device" if "device" in sides else "host"
    total = int(rows_behind["dur_ns"].sum()) / 1000
    parts, slices = _parts(rows_behind, level, limit), longest_slices(rows_behind, limit, Executed)
    return Answer(Drill(None if top else by, name, level, side, len(rows_behind), total, parts, slices))


def _texts() -> pl.Expr:
    return pl.col("name", "type", "core", "category", "operator", "module").cast(pl.String)


def _top(rows: pl.DataFrame) -> str:
    return "operator" if rows["module"].null_count() == len(rows) else "module"


def _within(by: str, name: str) -> pl.Expr:
    """A module holds its submodules too."""
    column = pl.col(_COLUMN.get(by, by))
    if not name:
        return column.is_null()
    same = (column == name).fill_null(False)
    return same | column.str.starts_with(f"{name}/").fill_null(False) if by == "module" else same


def _parts(rows: pl.DataFrame, level: str, limit: int) -> list[Part]:
    if level == "slice":
        return []
    key = _COLUMN.get(level, level)
    duration = pl.col("dur_ns")
    groups = rows.group_by(key).agg(count=pl.len(), total=duration.sum(), greatest=duration.max())
    whole = rows["dur_ns"].sum()
    return [
        Part(name, count, total / 1000, total / count / 1000, greatest / 1000, total / whole if whole else None)
        for name, count, total, greatest in groups.sort("total", key, descending=[True, False]).head(limit).iter_rows()
    ]
