"""Copies between host and device and within them: bytes, time and bandwidth per kind (docs/metrics/operators.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.units import Bytes, BytesPerSecond, Count, Identifier, Microseconds, Share
from stepscope.analysis.foundation.work import ranks_of
from stepscope.analysis.operators.executed import chosen_steps
from stepscope.errors import NoAnswerError
from stepscope.facts.operators import operators_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore

#: The kind of copies of which nothing tells the direction.
UNKNOWN: Final = "unknown"


class Copies(msgspec.Struct, frozen=True):
    """Copies of one kind and name of one rank; ``bandwidth`` counts only copies whose size is known."""

    rank: Identifier
    kind: str
    name: str
    pageable: bool
    count: Count
    total_us: Microseconds
    avg_us: Microseconds
    max_us: Microseconds
    share: Share | None
    sized: Count
    bytes: Bytes | None
    min_bytes: Bytes | None
    max_bytes: Bytes | None
    bandwidth_bytes_per_s: BytesPerSecond | None


@question(rows=Copies)
def copies(
    store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> Answer[pl.DataFrame]:
    """Rows of ``Copies``, the longest first."""
    frames, notes = [], []
    for rank in ranks_of(store, ranks):
        slices = store.scan("slices", [rank]).filter(pl.col("kind") == "copy")
        rows = chosen_steps(
            slices.select("slice", "name", "type", "operator", "dur_ns", "bytes", "step").collect(), steps
        )
        if rows.is_empty():
            continue
        if unsized := rows["bytes"].null_count():
            notes.append(Note("copies_without_size", rank=rank, count=unsized))
        frames.append(_statistics(with_kinds(store, rank, rows), rank))
    if not frames:
        raise NoAnswerError("no_copies")
    return Answer(pl.concat(frames), notes)


def with_kinds(store: RunStore, rank: int, rows: pl.DataFrame) -> pl.DataFrame:
    """The kind as the name tells, else the type, else the direction that Ascend states (level 2), else the operator."""
    rows = rows.with_columns(pl.col("name", "type", "operator").cast(pl.String), direction=pl.lit(None, pl.String))
    rows = rows.with_columns(pl.col("name").fill_null(""), kind=_first_kind("name", "type"))
    unknown = rows.filter(pl.col("kind").is_null())["slice"]
    if len(unknown):
        details = store.scan("details", [rank]).filter(pl.col("slice").is_in(unknown.implode()))
        stated = details.select("slice", direction=pl.col("json").str.extract(_DIRECTION, 1)).collect()
        rows = rows.drop("direction").join(stated, on="slice", how="left")
        rows = rows.with_columns(kind=pl.coalesce("kind", _first_kind("direction", "operator")))
    return rows.with_columns(pl.col("kind").fill_null(UNKNOWN))


_DIRECTION = r'"memcpy direction"\s*:\s*"([^"]*)"'


def _first_kind(*columns: str) -> pl.Expr:
    # Each distinct text is looked at once (copy_kind remembers).
    return pl.coalesce(pl.col(name).map_elements(copy_kind, pl.String) for name in columns)


@cache
def copy_kind(text: str) -> str | None:
    """The kind that a copy's name or stated direction means, or None.

    >>> copy_kind("Memcpy HtoD (Pageable -> Device)"), copy_kind("Memset (Device)"), copy_kind("MEMCPY_ASYNC")
    ('host_to_device', 'set', None)
    """
    for entry in operators_facts().copies:
        if re.search(entry.pattern, text):
            return entry.kind
    return None


def _statistics(rows: pl.DataFrame, rank: int) -> pl.DataFrame:
    duration, size = pl.col("dur_ns"), pl.col("bytes")
    groups = rows.group_by("kind", "name").agg(
        count=pl.len(),
        total=duration.sum(),
        greatest=duration.max(),
        sized=size.count(),
        sized_total=duration.filter(size.is_not_null()).sum(),
        bytes=pl.when(size.count() > 0).then(size.sum()),
        min_bytes=size.min(),
        max_bytes=size.max(),
    )
    total = pl.col("total")
    size_of_all = pl.col("bytes").cast(pl.Float64)  # nanoseconds times bytes of a large run exceed 64 bits
    rate = pl.when(pl.col("sized_total") > 0).then(size_of_all * 1e9 / pl.col("sized_total"))
    return groups.sort("total", "name", descending=[True, False]).select(
        rank=pl.lit(rank, pl.Int64),
        kind="kind",
        name="name",
        pageable=pl.col("name").str.contains(operators_facts().pageable.pattern),
        count="count",
        total_us=in_microseconds(total),
        avg_us=in_microseconds(total / pl.col("count")),
        max_us=in_microseconds(pl.col("greatest")),
        share=pl.when(total.sum() > 0).then(total / total.sum()),
        sized="sized",
        bytes="bytes",
        min_bytes="min_bytes",
        max_bytes="max_bytes",
        bandwidth_bytes_per_s=rate,
    )
