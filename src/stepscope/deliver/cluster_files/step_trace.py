"""``cluster_step_trace_time.csv``: the vendor's step columns of all ranks, and per stage their largest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.deliver.capture_directory.step_trace_time import step_trace_time
from stepscope.layout import columns
from stepscope.store.run_store import RunStore

_INDEXES: Final = {"DP Index": "dp", "PP Index": "pp", "TP Index": "tp"}
_TIMES: Final = [name for name in columns.STEP_TRACE_TIME if name != "Step"]


def step_trace(store: RunStore, ranks: Sequence[int]) -> pl.DataFrame | None:
    """The table, or None where no rank has a step with work."""
    frames = []
    for rank in ranks:
        rows = step_trace_time(RankData(store, rank))
        if rows is not None:
            frames.append(rows.select("Step", pl.lit("rank").alias("Type"), pl.lit(rank).alias("rank"), *_TIMES))
    if not frames:
        return None
    plan = store.scan("ranks").select("rank", *_INDEXES.values()).collect()
    rows = pl.concat(frames).join(plan, on="rank", how="left", maintain_order="left")
    own = rows.with_columns(Index=pl.col("rank").cast(pl.String))
    every = own if rows["pp"].n_unique() < 2 else pl.concat([own, _stages(rows, plan)], how="diagonal")
    shown = ["Step", "Type", "Index", *_TIMES]
    if rows.select(pl.any_horizontal(pl.col(*_INDEXES.values()).is_not_null().any())).item():
        indexes = [pl.col(name).cast(pl.String).fill_null("NA").alias(title) for title, name in _INDEXES.items()]
        return every.select(*shown, *indexes)
    return every.select(shown)


def _stages(rows: pl.DataFrame, plan: pl.DataFrame) -> pl.DataFrame:
    """Per step and stage the largest of each column, as the vendor does it: the maxima may be of different ranks."""
    largest = rows.group_by("Step", "pp", maintain_order=True).agg(pl.col(_TIMES).max()).sort("pp", maintain_order=True)
    members = {stage: str(tuple(sorted(own["rank"]))) for (stage,), own in plan.group_by("pp")}
    index = pl.col("pp").replace_strict(members, return_dtype=pl.String)
    return largest.with_columns(Type=pl.lit("stage"), Index=index).drop("pp")
