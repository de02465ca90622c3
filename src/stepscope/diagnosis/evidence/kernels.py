"""Proof and place of findings about kernels: the longest of them, and the line of code that asked for it."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.memory.sites import own_frames
from stepscope.diagnosis.finding import Proof
from stepscope.facts.findings import finding_facts
from stepscope.store.run_store import RunStore

#: Frames that stand for a module of the network and no line.
_MODULE: Final = "nn.Module: "
_ENGINE: Final = "autograd::engine::"


def longest_kernels(rank: int, groups: pl.DataFrame) -> list[Proof]:
    """The longest kernel of each group, as slices of the timeline; groups come with the most time first."""
    rows = groups.head(finding_facts().lists.most_proofs).select("slice", "start_ns", "longest_ns").iter_rows()
    return [
        Proof(rank=rank, page="timeline", slices=[number], start_ns=start, end_ns=start + length)
        for number, start, length in rows
    ]


def leading_operator(groups: pl.DataFrame) -> str | None:
    """The operator that takes most of the time of some groups; of kernels without one, their type."""
    named = groups.with_columns(named=pl.coalesce(pl.col("operator", "type", "name").cast(pl.String)))
    totals = named.group_by("named", maintain_order=True).agg(pl.col("us").sum()).sort("us", descending=True)
    return None if totals.is_empty() else totals["named"][0]


def asking_operator(store: RunStore, rank: int, groups: pl.DataFrame) -> str | None:
    """The outermost operator that the longest of these kernels were launched in, by time: who asked for them.

    Nodes of autograd's engine only say that it was in backward.
    """
    longest = groups.head(finding_facts().lists.most_proofs).select(kernel="slice", us="us")
    launches = store.scan("links", [rank]).filter(pl.col("kind").cast(pl.String) == "launch")
    calls = launches.select(kernel="to_slice", slice="from_slice").join(longest.lazy(), on="kernel", how="semi")
    slices = store.scan("slices", [rank]).select("slice", "parent", pl.col("name", "kind").cast(pl.String)).collect()
    outermost: dict[int, str] = {}
    around = calls.collect()
    while not around.is_empty():  # one slice further out each time
        around = around.join(slices, on="slice")
        asks = (pl.col("kind") == "operator") & ~pl.col("name").str.starts_with(_ENGINE)
        outermost.update(around.filter(asks).select("kernel", "name").iter_rows())
        around = around.select("kernel", slice="parent").drop_nulls()
    spent: dict[str, float] = {}
    for kernel, us in longest.iter_rows():
        if kernel in outermost:
            spent[outermost[kernel]] = spent.get(outermost[kernel], 0.0) + us
    return max(spent, key=lambda name: spent[name], default=None)


def line_of(store: RunStore, rank: int, groups: pl.DataFrame) -> str | None:
    """The innermost line of the program's own code behind the longest of these kernels, where stacks were recorded."""
    wanted = groups.select("slice").head(finding_facts().lists.most_proofs).lazy()
    slices = store.scan("slices", [rank]).select("slice", "stack").drop_nulls("stack")
    stacks = store.scan("stacks", [rank]).select("stack", "frames")
    by_time = wanted.join(slices, on="slice", maintain_order="left").join(stacks, on="stack", maintain_order="left")
    frames = by_time.collect()["frames"]
    lines = ([line for line in own_frames(stack) if not line.startswith(_MODULE)] for stack in frames)
    return next((own[-1] for own in lines if own), None)
