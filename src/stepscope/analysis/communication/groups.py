"""The groups of a run with their members, and calls that some members never joined."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from stepscope.analysis.communication.types import Group, Unjoined
from stepscope.store.run_store import RunStore
from stepscope.typed import typed


def groups_of(store: RunStore) -> list[Group]:
    """Every group that a file describes or a call names."""
    group = pl.col("group").cast(pl.String)
    callers = store.scan("collectives").select(group, "rank")
    peers = store.scan("transfers").select(group, rank="peer")
    seen = (
        pl.concat([callers, store.scan("transfers").select(group, "rank"), peers])
        .drop_nulls()
        .unique()
        .group_by("group")
        .agg(seen=pl.col("rank").sort())
    )
    texts = [pl.col(name).cast(pl.String) for name in ("dimension", "origin", "confidence")]
    stated = store.scan("groups").select(group, "name", "ranks", *texts).filter(pl.col("group").is_not_null())
    # A description without members is ignored.
    stated = stated.sort(pl.col("ranks").is_null(), maintain_order=True).unique("group", keep="first")
    rows = stated.join(seen, on="group", how="full", coalesce=True).sort("group").collect()
    captured = set(store.ranks)
    entries = []
    for row in rows.iter_rows(named=True):
        ranks = row["ranks"] or row["seen"] or []
        entries.append(
            Group(
                group=row["group"],
                name=row["name"],
                dimension=row["dimension"],
                ranks=ranks,
                captured=[rank for rank in ranks if rank in captured],
                members_known=bool(row["ranks"]),
                origin=row["origin"],
                confidence=row["confidence"],
            )
        )
    return entries


def unjoined(calls: pl.DataFrame, groups: Sequence[Group], steps: pl.DataFrame) -> list[Unjoined]:
    """Calls (``call`` numbers those that belong together) of which members lack that recorded the same step."""
    members = pl.DataFrame(
        {
            "group": [each.group for each in groups if each.members_known for _ in each.captured],
            "rank": [rank for each in groups if each.members_known for rank in each.captured],
        },
        schema={"group": pl.String, "rank": pl.Int32},
    )
    known = calls.filter(pl.col("step").is_not_null())
    per_call = known.group_by("call").agg(
        pl.col("group", "kind", "step", "seq").first(),
        joined=pl.col("rank").unique().sort(),
        start_ns=pl.min("start_ns"),
    )
    short = per_call.join(members.group_by("group").len("members"), on="group").filter(
        pl.col("joined").list.len() < pl.col("members")
    )
    absent = (
        short.join(members, on="group")
        .join(steps.select("rank", "step"), on=["rank", "step"], how="semi")
        .filter(~pl.col("rank").is_in(pl.col("joined")))
        .group_by("call")
        .agg(missing=pl.col("rank").sort())
    )
    rows = short.join(absent, on="call").sort("start_ns", "call").select(Unjoined.__struct_fields__)
    return typed(rows.to_dicts(), list[Unjoined])
