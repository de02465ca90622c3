"""The question ``occurrences``: how a row of ``operators`` is distributed, and where, when and whence it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.longest import longest_slices
from stepscope.analysis.foundation.question import AtLeast, OneOf, question
from stepscope.analysis.foundation.units import Count, Identifier, Microseconds, Nanoseconds, Share
from stepscope.analysis.foundation.work import COMPUTE, ranks_of
from stepscope.analysis.occurrences.call_sites import call_sites
from stepscope.analysis.occurrences.distribution import classes
from stepscope.analysis.occurrences.rows_of_group import Group, rows_of_group
from stepscope.analysis.operators.groups import KEYS
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore


class DurationClass(msgspec.Struct, frozen=True):
    """How many occurrences lasted from ``from_us`` to ``to_us``."""

    from_us: Microseconds
    to_us: Microseconds
    count: Count


class StepShare(msgspec.Struct, frozen=True):
    """The occurrences of one step."""

    step: Identifier
    count: Count
    total_us: Microseconds


class ShapeShare(msgspec.Struct, frozen=True):
    """The occurrences with inputs of one shape."""

    input_shapes: str | None
    dtypes: str | None
    count: Count
    total_us: Microseconds
    avg_us: Microseconds
    share: Share | None


class CallSite(msgspec.Struct, frozen=True):
    """The occurrences called from one place; the outermost frame first."""

    frames: list[str]
    count: Count
    total_us: Microseconds
    share: Share | None


class Occurrence(msgspec.Struct, frozen=True):
    """One slice, as ``slices`` numbers it, with the time that it counts with."""

    slice: Identifier
    name: str
    operator: str | None
    module: str | None
    step: Identifier | None
    start_ns: Nanoseconds
    duration_us: Microseconds
    input_shapes: str | None


class Occurrences(msgspec.Struct, frozen=True):
    """All occurrences of one row of ``operators`` on one rank."""

    rank: Identifier
    by: str
    name: str | None
    side: str
    count: Count
    total_us: Microseconds
    p50_us: Microseconds
    p95_us: Microseconds
    durations: list[DurationClass]
    steps: list[StepShare]
    shapes: list[ShapeShare]
    call_sites: list[CallSite]
    longest: list[Occurrence]


@question()
def occurrences(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    by: Annotated[str, OneOf(*KEYS)] = "kernel",
    name: str = "",
    side: Annotated[str | None, OneOf("host", "device")] = None,
    lane: Annotated[str | None, OneOf("compute", "communication", "copy", "all")] = None,
    kernel_type: str | None = None,
    core: str | None = None,
    input_shapes: str | None = None,
    dtypes: str | None = None,
    limit: Annotated[int, AtLeast(1)] = 20,
) -> Answer[list[Occurrences]]:
    """What the row ``name`` of ``operators --by …`` consists of, per rank; an empty text is that of a row without one.

    ``kernel_type``, ``core``, ``input_shapes`` and ``dtypes`` tell rows of one name apart, as the rows themselves do.
    """
    lane = lane or ("all" if by == "category" else COMPUTE)
    given = {"type": kernel_type, "core": core, "input_shapes": input_shapes, "dtypes": dtypes}
    group = Group(by, lane, name, {key: value for key, value in given.items() if value is not None})
    answers = []
    for rank in ranks_of(store, ranks):
        rows, rows_side = rows_of_group(store, rank, group, side, steps)
        if len(rows):
            answers.append(_described(store, rank, rows, group, rows_side, limit))
    if not answers:
        raise NoAnswerError("no_such_row", by=by, name=name) if name else NoAnswerError("no_row_without_name", by=by)
    return Answer(answers)


def _described(store: RunStore, rank: int, rows: pl.DataFrame, group: Group, side: str, limit: int) -> Occurrences:
    duration = rows["dur_ns"]
    total = int(duration.sum())
    return Occurrences(
        rank=rank,
        by=group.by,
        name=group.name or None,
        side=side,
        count=len(rows),
        total_us=total / 1000,
        p50_us=float(duration.quantile(0.5, "linear") or 0) / 1000,
        p95_us=float(duration.quantile(0.95, "linear") or 0) / 1000,
        durations=[DurationClass(low / 1000, high / 1000, count) for low, high, count in classes(duration.to_numpy())],
        steps=_by_step(rows),
        shapes=_by_shape(rows, total, limit),
        call_sites=[
            CallSite(frames, count, time / 1000, time / total if total else None)
            for frames, count, time in call_sites(store, rank, rows, limit)
        ],
        longest=longest_slices(rows, limit, Occurrence),
    )


def _by_step(rows: pl.DataFrame) -> list[StepShare]:
    known = rows.filter(pl.col("step").is_not_null()).group_by("step").agg(count=pl.len(), total=pl.col("dur_ns").sum())
    return [StepShare(step, count, total / 1000) for step, count, total in known.sort("step").iter_rows()]


def _by_shape(rows: pl.DataFrame, whole: int, limit: int) -> list[ShapeShare]:
    keys = ["input_shapes", "dtypes"]
    groups = rows.group_by(keys).agg(count=pl.len(), total=pl.col("dur_ns").sum())
    if groups["input_shapes"].null_count() == len(groups):
        return []
    ordered = groups.sort("total", *keys, descending=[True, False, False], nulls_last=True).head(limit)
    return [
        ShapeShare(shapes, types, count, total / 1000, total / count / 1000, total / whole if whole else None)
        for shapes, types, count, total in ordered.iter_rows()
    ]
