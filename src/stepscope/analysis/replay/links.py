"""A faster link between two ranks: transfers between them take less, and collectives whose slowest link it was."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from stepscope.analysis.cluster.calls.matched import numbered_calls
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.changes import Change
from stepscope.analysis.replay.weights import Weights
from stepscope.errors import UsageError
from stepscope.store.run_store import RunStore


def faster_link(store: RunStore, change: Change) -> Callable[[Weights, int], int]:
    """Calls between both ends alone, and those that recorded transfers over the link; nanoseconds that they took.

    A collective is done when its slowest link is: it takes as long as the slowest one takes afterwards.
    """
    ends = _ends(change)
    shares: dict[int, dict[int, float]] = {}
    for (rank, slice_), share in _shares(store, ends, change.factor).items():
        shares.setdefault(rank, {})[slice_] = share

    def effect(weights: Weights, part_index: int) -> int:
        edges = weights.edges(part_index, (edge_kinds.COMMUNICATION, edge_kinds.MEMBERS))
        about = weights.replay.graph.about[edges]
        own = shares.get(weights.replay.ranks[part_index], {})
        return sum(weights.scale(edges[about == slice_], share) for slice_, share in own.items())

    return effect


def _shares(store: RunStore, ends: tuple[int, int], factor: float) -> dict[tuple[int, int], float]:
    """By rank and slice of all calls over the link: what part of their time they take on the faster one."""
    if factor <= 0:
        return {}
    shares: dict[tuple[int, int], float] = {}
    for rank, peer in (ends, ends[::-1]):
        if rank in store.ranks:
            shares |= _of_pairs(store, rank, peer, factor)
    return shares | _of_collectives(store, ends, factor)


def _ends(change: Change) -> tuple[int, int]:
    first, _, second = change.which.partition("-")
    if not (first.isdecimal() and second.isdecimal()):
        raise UsageError("bad_change", change=change.text)
    return int(first), int(second)


def _of_pairs(store: RunStore, rank: int, peer: int, factor: float) -> dict[tuple[int, int], float]:
    """By rank and slice of calls between both ends: what part of their time they take on the faster link."""
    calls = store.scan("collectives", [rank]).filter((pl.col("peer") == peer) & pl.col("slice").is_not_null())
    return {(rank, int(slice_)): 1 / factor for slice_ in calls.select("slice").collect()["slice"]}


def _of_collectives(store: RunStore, ends: tuple[int, int], factor: float) -> dict[tuple[int, int], float]:
    """The same of collectives that recorded transfers over the link, for all of their members: they end together."""
    calls = numbered_calls(store).select("call", "rank", "slice")
    shares = calls.join(_slowest_shares(store, calls, ends, factor), on="call").select("rank", "slice", "share")
    return {(rank, slice_): share for rank, slice_, share in shares.iter_rows()}


def _slowest_shares(store: RunStore, calls: pl.DataFrame, ends: tuple[int, int], factor: float) -> pl.DataFrame:
    """Per call over the link: its slowest link afterwards over its slowest link as recorded."""
    names = store.scan("collectives").select("rank", "slice", name=pl.col("name").cast(pl.String))
    moved = (
        store.scan("transfers")
        .filter((pl.col("kind").cast(pl.String) == "payload") & pl.col("call").is_not_null())
        .group_by("rank", "peer", name=pl.col("call").cast(pl.String))
        .agg(time_ns=pl.col("time_ns").sum())
        .join(names, on=["rank", "name"])
        .join(calls.lazy(), on=["rank", "slice"])
    )
    mine = pl.col("rank").is_in(ends) & pl.col("peer").is_in(ends)
    times = moved.group_by("call").agg(
        link=pl.col("time_ns").filter(mine).max().fill_null(0),
        others=pl.col("time_ns").filter(~mine).max().fill_null(0),
    )
    slowest = pl.max_horizontal("link", "others")
    after = pl.max_horizontal(pl.col("link") / factor, "others")
    return times.filter((pl.col("link") > 0) & (slowest > 0)).select("call", share=after / slowest).collect()
