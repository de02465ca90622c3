"""A faster link between two ranks: transfers between them take less, and collectives whose slowest link it was."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.changes import Change
from stepscope.analysis.replay.weights import Weights
from stepscope.errors import UsageError
from stepscope.store.run_store import RunStore


def faster_link(store: RunStore, weights: Weights, change: Change) -> int:
    """Calls between both ends alone, and those that recorded transfers over the link; nanoseconds that they took.

    A collective is done when its slowest link is: it takes as long as the slowest one takes afterwards.
    """
    ends = _ends(change)
    took = 0
    for part_index, part in enumerate(weights.replay.parts):
        if part.rank not in ends or change.factor <= 0:
            continue
        peer = ends[1] if part.rank == ends[0] else ends[0]
        for slices, share in _shares(store, part.rank, peer, change.factor):
            edges = weights.edges(part_index, (edge_kinds.COMMUNICATION, edge_kinds.MEMBERS))
            about = weights.replay.graph.about[edges]
            took += weights.scale(edges[about == slices], share)
    return took


def _ends(change: Change) -> tuple[int, int]:
    first, _, second = change.which.partition("-")
    if not (first.isdecimal() and second.isdecimal()):
        raise UsageError("bad_change", change=change.text)
    return int(first), int(second)


def _shares(store: RunStore, rank: int, peer: int, factor: float) -> list[tuple[int, float]]:
    """Slices of calls that use the link, and what part of their time they take when it is ``factor`` times as fast."""
    calls = store.scan("collectives", [rank]).filter(pl.col("slice").is_not_null())
    alone = calls.filter(pl.col("peer") == peer).select("slice").collect()["slice"].to_list()
    by_link = (
        store.scan("transfers", [rank])
        .filter((pl.col("kind").cast(pl.String) == "payload") & (pl.col("call").is_not_null()))
        .group_by("call", "peer")
        .agg(time_ns=pl.col("time_ns").sum())
    )
    mine = pl.col("peer") == peer
    times = by_link.group_by("call").agg(
        link=pl.col("time_ns").filter(mine).sum(), others=pl.col("time_ns").filter(~mine).max().fill_null(0)
    )
    slowest = pl.max_horizontal("link", "others")
    after = pl.max_horizontal(pl.col("link") / factor, "others")
    shares = times.filter((pl.col("link") > 0) & (slowest > 0)).select("call", share=after / slowest).collect()
    named = calls.select("slice", call=pl.col("name").cast(pl.String)).collect()
    joined = named.join(shares.with_columns(pl.col("call").cast(pl.String)), on="call")
    return [(int(part), 1 / factor) for part in alone] + [
        (int(part), float(share)) for part, share in joined.select("slice", "share").iter_rows()
    ]
