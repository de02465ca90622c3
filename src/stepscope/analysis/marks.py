"""Ranges and marks that the user's own code sets with ``mstx``, by name (docs/metrics/marks.md)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.units import Count, Identifier, Microseconds
from stepscope.analysis.foundation.work import ranks_of
from stepscope.analysis.operators.executed import chosen_steps
from stepscope.analysis.operators.groups import statistics
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore

#: The process under which every reader puts them.
_PROCESS = "mstx"


class Mark(msgspec.Struct, frozen=True):
    """Ranges, or marks, of one name and domain on one rank; a mark has no length."""

    rank: Identifier
    name: str
    domain: str
    kind: str
    count: Count
    total_us: Microseconds
    avg_us: Microseconds
    min_us: Microseconds
    p50_us: Microseconds
    p95_us: Microseconds
    max_us: Microseconds
    per_step_us: Microseconds | None


@question(rows=Mark)
def marks(
    store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> Answer[pl.DataFrame]:
    """Rows of ``Mark``, ranges before marks, the longest first."""
    frames = [rows for rank in ranks_of(store, ranks) if not (rows := _of_rank(store, rank, steps)).is_empty()]
    if not frames:
        raise NoAnswerError("no_marks")
    return Answer(pl.concat(frames))


def _of_rank(store: RunStore, rank: int, steps: Sequence[int] | None) -> pl.DataFrame:
    here = pl.col("process").cast(pl.String).str.to_lowercase() == _PROCESS
    tracks = store.scan("tracks", [rank]).filter(here).select("track")
    slices = store.scan("slices", [rank]).join(tracks, on="track", how="semi")
    rows = chosen_steps(slices.select("name", "type", "kind", "dur_ns", "step").collect(), steps)
    count_of_steps = len(set(steps)) if steps else len(step_marks(store, rank))
    kind = pl.when(pl.col("kind") == "mark").then(pl.lit("mark")).otherwise(pl.lit("range"))
    groups = rows.group_by(
        name=pl.col("name").cast(pl.String), domain=pl.col("type").cast(pl.String).fill_null("default"), kind=kind
    ).agg(*statistics(pl.col("dur_ns")), in_steps_ns=pl.col("dur_ns").filter(pl.col("step").is_not_null()).sum())
    ordered = groups.sort("kind", "total_ns", "name", "domain", descending=[True, True, False, False])
    in_us = {f"{name}_us": in_microseconds(pl.col(f"{name}_ns")) for name in ("total", "min", "p50", "p95", "max")}
    per_step = in_microseconds(pl.col("in_steps_ns") / max(count_of_steps, 1))
    return ordered.select(
        pl.lit(rank, pl.Int64).alias("rank"),
        "name",
        "domain",
        "kind",
        pl.col("count").cast(pl.Int64),
        **in_us,
        avg_us=in_microseconds(pl.col("total_ns") / pl.col("count")),
        per_step_us=per_step if count_of_steps else pl.lit(None, pl.Float64),
    ).select(Mark.__struct_fields__)
