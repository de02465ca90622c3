"""Two steps side by side: which sites allocate more, less, newly, no more, or from another place.

Allocations are aligned by site and by their number within it; what is left over, by operator and size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.step_windows import StepWindows
from stepscope.analysis.memory.structures import SiteDifference, StepBalance, StepDifference
from stepscope.facts.memory import memory_facts

_NEW, _GONE, _GROWN, _SHRUNK, _MOVED, _SAME = "new", "gone", "grown", "shrunk", "moved", "same"


def chosen_steps(windows: StepWindows, steps: Sequence[int] | None) -> tuple[int, int] | None:
    """Windows of the two steps to compare: those asked for, else the first after warm-up and the last."""
    if steps and len(set(steps)) == 2:
        pair = [int(window[0]) for step in steps if len(window := np.flatnonzero(windows.number == step))]
        return (pair[0], pair[1]) if len(pair) == 2 else None
    first = min(memory_facts().leaks.warm_up_steps, len(windows) - 2)
    return (first, len(windows) - 1) if first >= 0 else None


def step_difference(
    blocks: Blocks,
    site: pl.Series,
    sites: pl.DataFrame,
    windows: StepWindows,
    balance: list[StepBalance],
    pair: tuple[int, int],
) -> StepDifference:
    """The difference; ``site`` is the number of each block's site, ``balance`` has the totals of all steps."""
    born = windows.index_at(blocks.alloc_ns)
    survives = blocks.free_ns >= np.append(windows.end, 0)[born]
    rows = pl.DataFrame(
        {
            "site": site,
            "operator": blocks.frame["operator"],
            "bytes": blocks.bytes,
            "net": np.where(survives, blocks.bytes, 0),
            "window": born,
            "order": blocks.born,
        }
    ).sort("order")
    base, other = (rows.filter(pl.col("window") == window) for window in pair)
    compared = _sites_compared(_aligned(base, other), sites)
    shown = compared.filter(pl.col("verdict") != _SAME)
    shown = shown.sort(pl.col("delta").abs(), descending=True, maintain_order=True)
    before, after = balance[pair[0]], balance[pair[1]]
    return StepDifference(
        base_step=before.step,
        step=after.step,
        base_bytes=before.allocated_bytes,
        bytes=after.allocated_bytes,
        base_net_bytes=before.net_bytes,
        net_bytes=after.net_bytes,
        base_peak_bytes=before.peak_bytes,
        peak_bytes=after.peak_bytes,
        delta_bytes=after.allocated_bytes - before.allocated_bytes,
        net_delta_bytes=after.net_bytes - before.net_bytes,
        same_sites=len(compared) - len(shown),
        sites=[_site_difference(row) for row in shown.iter_rows(named=True)],
    )


def _sites_compared(aligned: pl.DataFrame, sites: pl.DataFrame) -> pl.DataFrame:
    """One row per site: what it allocated in either step, and how the steps differ there."""
    return (
        aligned.group_by("site", maintain_order=True)
        .agg(
            base_blocks=pl.col("base_bytes").count(),
            blocks=pl.col("bytes").count(),
            base_bytes=pl.col("base_bytes").sum(),
            bytes=pl.col("bytes").sum(),
            base_net=pl.col("base_net").sum(),
            net=pl.col("net").sum(),
            moved=pl.col("moved").any(),
            differs=(pl.col("base_bytes").ne_missing(pl.col("bytes"))).any(),
        )
        .with_columns(verdict=_verdict(), delta=pl.col("bytes") - pl.col("base_bytes"))
        .join(sites.select("site", "label", "operator", "frames"), on="site", how="left", maintain_order="left")
    )


def _site_difference(row: dict[str, Any]) -> SiteDifference:
    return SiteDifference(
        site=row["label"],
        operator=row["operator"],
        verdict=row["verdict"],
        base_blocks=row["base_blocks"],
        blocks=row["blocks"],
        base_bytes=row["base_bytes"],
        bytes=row["bytes"],
        delta_bytes=row["delta"],
        base_net_bytes=row["base_net"],
        net_bytes=row["net"],
        stack=row["frames"],
    )


def _aligned(base: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """One row per allocation of either step: site, sizes on both sides (null where there is none), moved."""
    numbered = [part.with_columns(nth=pl.int_range(pl.len()).over("site")) for part in (base, other)]
    joined = numbered[0].join(numbered[1], on=["site", "nth"], how="full", coalesce=True, suffix="_other")
    rows = joined.select(
        "site",
        base_bytes="bytes",
        bytes="bytes_other",
        base_net="net",
        net="net_other",
        operator=pl.coalesce("operator", "operator_other"),
    )
    gone, new = rows.filter(pl.col("bytes").is_null()), rows.filter(pl.col("base_bytes").is_null())
    like = ["operator", "size"]
    gone, new = (
        part.with_columns(size=pl.coalesce("base_bytes", "bytes")).with_columns(nth=pl.int_range(pl.len()).over(like))
        for part in (gone, new)
    )
    kept = rows.filter(pl.col("bytes").is_not_null() & pl.col("base_bytes").is_not_null())
    parts = [kept.with_columns(moved=pl.lit(False))]
    for part, counterpart in ((gone, new), (new, gone)):
        paired = part.join(
            counterpart.select(*like, "nth", moved=pl.lit(True)), on=[*like, "nth"], how="left", nulls_equal=True
        )
        parts.append(paired.drop("size", "nth").with_columns(pl.col("moved").fill_null(False)))
    return pl.concat(parts)


def _verdict() -> pl.Expr:
    return (
        pl.when(~pl.col("differs"))
        .then(pl.lit(_SAME))
        .when("moved")
        .then(pl.lit(_MOVED))
        .when(pl.col("base_blocks") == 0)
        .then(pl.lit(_NEW))
        .when(pl.col("blocks") == 0)
        .then(pl.lit(_GONE))
        .when(pl.col("bytes") >= pl.col("base_bytes"))
        .then(pl.lit(_GROWN))
        .otherwise(pl.lit(_SHRUNK))
    )
