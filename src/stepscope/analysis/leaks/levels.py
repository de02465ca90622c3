"""What each site holds at the end of each step, and which of its blocks stay to the last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.step_windows import StepWindows
from stepscope.arrays import Bools, Int64s
from stepscope.facts.memory import memory_facts


@dataclass(frozen=True)
class Levels:
    """One row per site that holds anything at the end of a step, one column per step, in time order."""

    sites: Int64s  # number of the site of each row
    temporary: Int64s  # numbers of the sites whose blocks all die in their own step
    held: Int64s  # bytes alive at the end of each step
    kept: Int64s  # bytes born in each step and alive at the end of the last
    kept_blocks: Int64s
    allocations: Int64s
    depth: Int64s  # per site: how many step ends its freed blocks usually outlive, 0 if none did
    distinct_sizes: Int64s  # per site: sizes among its kept blocks
    in_step_blocks: Int64s  # per site: what the in-step rule of msleaks reports


def levels(blocks: Blocks, site: Int64s, windows: StepWindows) -> Levels:
    """``site``: number of each block's site. Blocks older than the window are left out: they came before every step."""
    steps = len(windows)
    born = np.searchsorted(windows.end, blocks.alloc_ns, side="right")
    died = np.searchsorted(windows.end, blocks.free_ns, side="right")
    counted = ~blocks.older & (born < steps)
    holding = np.unique(site[counted & (died > born)])
    temporary = np.setdiff1d(site[counted], holding)
    counted &= np.isin(site, holding)
    born, died, size = born[counted], died[counted], blocks.bytes[counted]
    site, sites = np.searchsorted(holding, site[counted]), len(holding)

    def table(row: Int64s, column: Int64s, value: Int64s) -> Int64s:
        sums = np.zeros((sites, steps + 1), np.int64)
        np.add.at(sums, (row, column), value)
        return sums

    one = np.ones(len(site), np.int64)
    held = np.cumsum(table(site, born, size) - table(site, died, size), axis=1)[:, :steps]
    stays = died >= steps
    kept = table(site[stays], born[stays], size[stays])[:, :steps]
    # Allocated in the second step or later, and alive at the end of the following step.
    in_step = (born >= 1) & (died > born + 1)
    return Levels(
        sites=holding,
        temporary=temporary,
        held=held,
        kept=kept,
        kept_blocks=table(site[stays], born[stays], one[stays])[:, :steps],
        allocations=table(site, born, one)[:, :steps],
        depth=_depth(site, died - born, ~stays, sites),
        distinct_sizes=_distinct(site[stays], size[stays], sites),
        in_step_blocks=np.bincount(site[in_step], minlength=sites),
    )


def _depth(site: Int64s, crossed: Int64s, freed: Bools, sites: int) -> Int64s:
    quantile = memory_facts().leaks.depth_quantile
    chosen = freed & (crossed > 0)
    deepest = (
        pl.DataFrame({"site": site[chosen], "crossed": crossed[chosen]})
        .group_by("site")
        .agg(pl.col("crossed").quantile(quantile, "higher"))
    )
    depth = np.zeros(sites, np.int64)
    depth[deepest["site"].to_numpy()] = deepest["crossed"].cast(pl.Int64).to_numpy()
    return depth


def _distinct(site: Int64s, size: Int64s, sites: int) -> Int64s:
    counted = pl.DataFrame({"site": site, "size": size}).group_by("site").agg(pl.col("size").n_unique())
    distinct = np.zeros(sites, np.int64)
    distinct[counted["site"].to_numpy()] = counted["size"].to_numpy()
    return distinct
