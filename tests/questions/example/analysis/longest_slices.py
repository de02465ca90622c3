"""An example: the whole of a question. Its sentences are in ``longest_slices.toml``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.question import AtLeast, OneOf, question
from stepscope.analysis.foundation.units import Identifier, Microseconds
from stepscope.analysis.foundation.work import ranks_of
from stepscope.store.run_store import RunStore


class LongSlice(msgspec.Struct, frozen=True):
    rank: Identifier
    name: str
    duration_us: Microseconds


@question(rows=LongSlice)
def longest_slices(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    kind: Annotated[str, OneOf("kernel", "operator")] = "kernel",
    most: Annotated[int, AtLeast(1)] = 3,
) -> Answer[pl.DataFrame]:
    """Rows of ``LongSlice``, the longest first."""
    slices = store.scan("slices", ranks_of(store, ranks)).filter(pl.col("kind") == kind)
    duration = (pl.col("dur_ns") / 1000).alias("duration_us")
    rows = slices.select("rank", pl.col("name").cast(pl.String), duration).collect()
    return Answer(rows.sort("duration_us", "name", "rank", descending=[True, False, False]).head(most))
