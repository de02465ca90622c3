"""Calls that some members never made, by sequence numbers alone: for logs that reach up to the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from stepscope.analysis.cluster.calls.matched import POINT_TO_POINT
from stepscope.analysis.communication.types import Group, Unjoined
from stepscope.store.run_store import RunStore
from stepscope.typed import typed

_CALL: Final = ["group", "seq", "kind"]


def never_joined(store: RunStore, groups: Sequence[Group]) -> list[Unjoined]:
    """Calls of a group that captured members lack whose own log holds that number or later ones, or all from the start.

    A log that keeps only the latest calls says nothing about those before its first. Where members made calls of
    different kinds under one number, each kind lacks the others.
    """
    to_the_end = store.scan("ranks").filter(pl.col("calls_until_end")).select("rank").collect()
    names = pl.col("group", "kind").cast(pl.String)
    calls = (
        store.scan("collectives")
        .join(to_the_end.lazy(), on="rank", how="semi")
        .select("rank", "slice", names, "seq", "start_ns")
        .filter(~pl.col("kind").is_in(POINT_TO_POINT) & pl.col("seq").is_not_null())
        .collect()
    )
    members = pl.DataFrame(
        [(each.group, rank) for each in groups if each.members_known for rank in each.captured],
        schema={"group": pl.String, "rank": pl.Int32},
        orient="row",
    ).join(to_the_end, on="rank", how="semi")
    whole = store.scan("collectives").group_by("rank").agg(whole=pl.col("slice").min() == 0).collect()
    first = calls.group_by("group", "rank").agg(first=pl.min("seq"))
    since = pl.when(pl.col("whole")).then(0).otherwise("first")
    members = (
        members.join(whole, on="rank", how="left")
        .join(first, on=["group", "rank"], how="left")
        .select("group", "rank", since=since)
        .drop_nulls("since")
    )
    made = calls.group_by(_CALL).agg(joined=pl.col("rank").unique().sort(), start_ns=pl.min("start_ns"))
    missing = (
        made.join(members, on="group")
        .filter((pl.col("seq") >= pl.col("since")) & ~pl.col("rank").is_in(pl.col("joined")))
        .group_by(_CALL)
        .agg(missing=pl.col("rank").sort())
    )
    rows = made.join(missing, on=_CALL).sort("start_ns", *_CALL).with_columns(step=pl.lit(None, pl.Int64))
    return typed(rows.select(Unjoined.__struct_fields__).to_dicts(), list[Unjoined])
