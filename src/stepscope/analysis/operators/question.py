"""The question ``operators``: what took the time, put together as asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.analysis.foundation.question import AtLeast, OneOf, question
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.units import Count, Identifier, InUnitBeside, Microseconds, Share, unit_of
from stepscope.analysis.foundation.work import COMPUTE, ranks_of
from stepscope.analysis.operators.counters import with_counters
from stepscope.analysis.operators.executed import HOST_CORE, busy_ns, device_work, host_work
from stepscope.analysis.operators.groups import KEYS, described, grouped
from stepscope.analysis.operators.host import calls, grouped_calls
from stepscope.analysis.vendor_tables import no_operators
from stepscope.errors import NoAnswerError
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges

#: Groupings in which every operator of the host has a row, not only those that do the work themselves.
_OF_CALLS: Final = ("operator", "shape", "module")
#: By grouping: the column that it needs, and the note that says how to record it.
_NEEDED: Final = {
    "shape": ("input_shapes", "no_shapes"),
    "module": ("module", "no_modules"),
    "operator": ("operator", "no_launching_operators"),
}
_SORTED_BY: Final = (
    "name",
    "type",
    "core",
    "operator",
    "category",
    "input_shapes",
    "count",
    "total_us",
    "avg_us",
    "min_us",
    "p50_us",
    "p95_us",
    "max_us",
    "share",
    "busy_share",
    "per_step_us",
    "self_us",
    "device_total_us",
    "device_self_us",
)


class Operator(msgspec.Struct, frozen=True):
    """One group of one rank; null is what the capture cannot tell or what has no meaning on that side."""

    rank: Identifier
    name: str | None
    type: str | None
    core: str | None
    side: str
    operator: str | None
    category: str | None
    count: Count
    total_us: Microseconds
    avg_us: Microseconds
    min_us: Microseconds
    p50_us: Microseconds
    p95_us: Microseconds
    max_us: Microseconds
    share: Share | None
    busy_share: Share | None
    per_step_us: Microseconds | None
    steps: Count
    self_us: Microseconds | None
    device_total_us: Microseconds | None
    device_self_us: Microseconds | None
    input_shapes: str | None
    dtypes: str | None
    pmu: dict[str, InUnitBeside | None] | None


@dataclass(frozen=True)
class _Asked:
    by: str
    side: str | None
    lane: str
    steps: Sequence[int] | None
    search: str | None
    search_operator: str | None
    kernel_type: str | None
    category: str | None


@dataclass(frozen=True)
class _Wanted:
    """Which of the groups, in which order."""

    sort: str | None
    ascending: bool
    offset: int
    limit: int | None


class OperatorTotal(msgspec.Struct, frozen=True):
    """What the shares of one side of a rank are shares of; ``groups`` counts the rows, also those beyond the limit."""

    rank: Identifier
    side: str
    total_us: Microseconds
    groups: Count


@question(rows=Operator, beside={"totals": list[OperatorTotal]})
def operators(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    by: Annotated[str, OneOf(*KEYS)] = "kernel",
    side: Annotated[str | None, OneOf("host", "device")] = None,
    lane: Annotated[str | None, OneOf("compute", "communication", "copy", "all")] = None,
    search: str | None = None,
    search_operator: str | None = None,
    kernel_type: str | None = None,
    category: str | None = None,
    sort: Annotated[str | None, OneOf(*_SORTED_BY)] = None,
    ascending: bool = False,
    offset: Annotated[int, AtLeast(0)] = 0,
    limit: Annotated[int | None, AtLeast(1)] = None,
) -> Answer[pl.DataFrame]:
    """Rows of ``Operator``, device first, longest first; compute alone, unless a lane or categories are asked for."""
    lane = lane or ("all" if by == "category" else COMPUTE)
    asked = _Asked(by, side, lane, steps, search, search_operator, kernel_type, category)
    wanted = _Wanted(sort, ascending, offset, limit)
    frames: list[pl.DataFrame] = []
    totals: list[OperatorTotal] = []
    notes: list[Note] = []
    for rank in ranks_of(store, ranks):
        count = _step_count(store, rank, steps, notes)
        for groups in _of_rank(store, rank, asked, notes):
            totals.append(OperatorTotal(rank, groups["side"][0], groups["whole_ns"][0] / 1000, len(groups)))
            chosen = _chosen(_finished(groups, rank, count), wanted)
            if limit is not None and len(groups) > len(chosen):
                left = {"rows": len(groups) - len(chosen), "side": groups["side"][0]}
                notes.append(Note("rows_left_out", rank=rank, params=left))
            frames.append(chosen)
    if not frames:
        filtered = any(each is not None for each in (steps, search, search_operator, kernel_type, category))
        raise NoAnswerError("no_operators") if filtered else no_operators("no_operators", store, ranks_of(store, ranks))
    return Answer(pl.concat(frames, how="diagonal_relaxed"), notes, {"totals": totals})


def _chosen(rows: pl.DataFrame, wanted: _Wanted) -> pl.DataFrame:
    """A stretch of the rows in the wanted order; those without a value come last."""
    if wanted.sort is not None:
        rows = rows.sort(wanted.sort, descending=not wanted.ascending, nulls_last=True, maintain_order=True)
    return rows.slice(wanted.offset, wanted.limit)


def _step_count(store: RunStore, rank: int, steps: Sequence[int] | None, notes: list[Note]) -> int:
    if steps:
        return len(set(steps))
    marks = step_marks(store, rank)
    if len(marks) and marks["warm_up"].any():
        numbers = ranges(marks.filter("warm_up")["step"])
        notes.append(Note("warm_up_counted", rank=rank, params={"steps": numbers}))
    return len(marks)


def _of_rank(store: RunStore, rank: int, asked: _Asked, notes: list[Note]) -> list[pl.DataFrame]:
    """Groups on the device, then on the host."""
    frames = []
    device = device_work(store, rank, asked.steps, detailed=asked.by in ("shape", "module"))
    if len(device) and asked.side != "host":
        _note_missing(device, asked.by, rank, notes)
        frames.append(_executed(store, rank, device, asked, "device"))
    if asked.side == "device":
        pass
    elif asked.by in _OF_CALLS:
        rows = calls(store, rank, asked.steps, by=asked.by)
        _note_missing(rows, asked.by, rank, notes)
        frames.append(_called(rows, asked, on_device=len(device) > 0))
    elif asked.side == "host" or not len(device) or _ran_on_host(store, rank):
        if not len(device):
            notes.append(Note("operators_are_kernels", rank=rank))
        frames.append(_executed(store, rank, host_work(store, rank, asked.steps), asked, "host"))
    return [frame for frame in frames if len(frame)]


def _ran_on_host(store: RunStore, rank: int) -> bool:
    """Whether the capture itself says that operators ran on the host's processor, beside the device."""
    there = store.scan("slices", [rank]).filter((pl.col("kind") == "operator") & (pl.col("core") == HOST_CORE))
    return len(there.select("slice").head(1).collect()) > 0


def _executed(store: RunStore, rank: int, rows: pl.DataFrame, asked: _Asked, side: str) -> pl.DataFrame:
    busy = busy_ns(rows)
    rows = described(rows if asked.lane == "all" else rows.filter(pl.col("lane") == asked.lane))
    total = rows["dur_ns"].sum()
    rows = _searched(_searched(rows, asked.search, "name", "type", asked.by), asked.search_operator, "operator")
    groups = grouped(rows, asked.by)
    if asked.kernel_type is not None and "type" in groups.columns:
        groups = groups.filter(pl.col("type").cast(pl.String) == asked.kernel_type)
    if asked.category is not None and "category" in groups.columns:
        groups = groups.filter(pl.col("category").cast(pl.String).fill_null("other") == asked.category)
    if side == "device":
        groups = with_counters(store, rank, rows, groups, KEYS[asked.by])
    else:
        groups = groups.with_columns(self_ns="total_ns")
    return groups.with_columns(
        side=pl.lit(side),
        whole_ns=pl.lit(total),
        share=pl.col("total_ns") / total if total else pl.lit(None, pl.Float64),
        busy_share=pl.col("total_ns") / busy if busy else pl.lit(None, pl.Float64),
    )


def _called(rows: pl.DataFrame, asked: _Asked, *, on_device: bool) -> pl.DataFrame:
    total = rows["self_ns"].sum()
    rows = _searched(_searched(rows, asked.search, "name", asked.by), asked.search_operator, "name")
    share = pl.col("self_ns") / total if total else pl.lit(None, pl.Float64)
    groups = grouped_calls(rows, asked.by, on_device=on_device)
    return groups.with_columns(side=pl.lit("host"), whole_ns=pl.lit(total), share=share)


def _searched(rows: pl.DataFrame, wanted: str | None, *columns: str) -> pl.DataFrame:
    """Rows in which one of the columns contains the text, ignoring case."""
    if not wanted:
        return rows
    matches = (
        pl.col(name).cast(pl.String).str.to_lowercase().str.contains(wanted.lower(), literal=True).fill_null(False)
        for name in dict.fromkeys(columns)
        if name in rows.columns
    )
    return rows.filter(pl.any_horizontal(matches))


def _note_missing(rows: pl.DataFrame, by: str, rank: int, notes: list[Note]) -> None:
    column, code = _NEEDED.get(by, (by, ""))
    if not code or column not in rows.columns or not len(rows):
        return
    note = Note(code, rank=rank)
    if rows[column].null_count() == len(rows) and note not in notes:
        notes.append(note)


def _finished(groups: pl.DataFrame, rank: int, steps: int) -> pl.DataFrame:
    """All fields of ``Operator``, times in microseconds."""
    total = pl.col("total_ns")
    per_step = total / steps if steps else pl.lit(None, pl.Float64)
    groups = groups.with_columns(rank=pl.lit(rank, pl.Int64), avg_ns=total / pl.col("count"), per_step_ns=per_step)
    columns: list[pl.Expr] = []
    for field in msgspec.structs.fields(Operator):
        name, unit = field.name, unit_of(field.type)
        timed = unit == "us"
        source = f"{name.removesuffix('_us')}_ns" if timed else name
        if source in groups.columns:
            column = pl.col(source)
            if timed:
                column = in_microseconds(column)
            elif isinstance(groups.schema[source], pl.Categorical):
                column = column.cast(pl.String)
            columns.append(column.alias(name))
        elif name == "pmu":
            columns.append(pl.lit(None, pl.Null).alias(name))
        else:
            columns.append(pl.lit(None, pl.String if unit is None else pl.Float64).alias(name))
    return groups.select(columns)
