"""Communication as the vendor's own summaries tell it, in text and in databases alike."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.readers.ascend import device_tasks

#: Parts of a call's time that the vendor computes.
TIMES: Final = ("transit_ns", "wait_ns", "sync_ns", "idle_ns")


def calls_without_timeline(calls: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``collectives`` where there is no timeline that holds them."""
    names = calls["name"].to_list()
    return calls.select(
        "name",
        "group",
        "step",
        "start_ns",
        *TIMES,
        end_ns=pl.col("start_ns") + pl.col("elapse_ns").fill_null(0),
        kind=pl.Series([device_tasks.collective_kind(name) for name in names], dtype=pl.String),
        seq=pl.Series([device_tasks.call_number(name) for name in names], dtype=pl.Int64),
    )


def transfers_of_links(links: pl.DataFrame, groups: pl.DataFrame, rank: int) -> pl.DataFrame:
    """Rows of ``transfers`` from the totals of communication_matrix.json, where no planes were recorded."""
    members = members_of(groups)
    peers = [
        (members[group][peer] if peer < len(members[group]) else None)
        if group in members
        else (peer if source == rank else None)
        for group, source, peer in links.select("group", "source", "peer").iter_rows()
    ]
    return links.select(
        "group",
        "call",
        "step",
        "bytes",
        "time_ns",
        peer=pl.Series(peers, dtype=pl.Int64),
        kind=pl.lit("payload"),
        transport=pl.Series([device_tasks.transport(word) for word in links["transport"]], dtype=pl.String),
    )


def groups_seen(calls: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Groups that only the calls name; their members are not known."""
    seen = calls.select(pl.col("group").drop_nulls().unique(maintain_order=True))
    new = seen.join(known.select("group"), on="group", how="anti")
    return new.with_columns(origin=pl.lit("calls"), confidence=pl.lit("stated"))


def members_of(groups: pl.DataFrame) -> dict[str, list[int]]:
    """Ranks of each group whose members are known."""
    rows = groups.select("group", "ranks").iter_rows() if groups.height else ()
    return {group: ranks for group, ranks in rows if ranks}
