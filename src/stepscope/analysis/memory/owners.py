"""What is allocated at a moment: a list that adds up to the curve exactly, with names for what no block explains."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.categories import BEFORE_WINDOW, OTHER, UNKNOWN
from stepscope.analysis.memory.peak import Moment
from stepscope.analysis.memory.spaces import Space, settled_residual
from stepscope.analysis.memory.step_windows import OUTSIDE, StepWindows
from stepscope.analysis.memory.structures import CategoryPart, Owner
from stepscope.facts.memory import memory_facts

RECORDED = "recorded"
BEFORE = "before_window"
UNSEEN = "before_window_unseen"
UNRECORDED = "unrecorded"
OVERCOUNTED = "overcounted"


def owners(
    space: Space, moment: Moment, labels: pl.DataFrame, sites: pl.DataFrame, windows: StepWindows
) -> list[Owner]:
    """Owners by size. ``labels`` has site, category and confidence of each block of the space."""
    parts: list[Owner] = []
    known = 0
    blocks = space.blocks
    if blocks is not None and moment.state is not None:
        alive = blocks.alive(moment.state)
        known = int(blocks.bytes[alive].sum())
        parts = _groups(blocks, pl.Series(alive), labels, sites, windows, moment)
    parts += _rest(space, moment, known)
    return sorted(parts, key=lambda owner: -owner.bytes)


def _groups(
    blocks: Blocks,
    alive: pl.Series,
    labels: pl.DataFrame,
    sites: pl.DataFrame,
    windows: StepWindows,
    moment: Moment,
) -> list[Owner]:
    step = windows.index_at(blocks.alloc_ns)
    number = np.append(windows.number, 0)[step]
    born = pl.Series("step", number, strict=False).to_frame().select(pl.when(pl.Series(step != OUTSIDE)).then("step"))
    key = ["older", "site", "category", "confidence"]
    groups = (
        labels.with_columns(older=pl.Series(blocks.older), bytes=blocks.frame["bytes"], step=born["step"])
        .filter(alive)
        .group_by(key, maintain_order=True)
        .agg(
            pl.col("bytes").sum(),
            blocks=pl.len(),
            first_step=pl.col("step").min(),
            last_step=pl.col("step").max(),
        )
        .sort("bytes", descending=True, maintain_order=True)
        .join(sites.select("site", "label", "operator", "frames"), on="site", how="left", maintain_order="left")
    )
    savings = _savings(blocks, labels, groups)
    return [
        Owner(
            owner=row["label"] or BEFORE,
            kind=BEFORE if row["older"] else RECORDED,
            bytes=row["bytes"],
            share=_share(row["bytes"], moment.bytes),
            blocks=row["blocks"],
            category=row["category"],
            confidence=row["confidence"],
            operator=row["operator"],
            first_step=row["first_step"],
            last_step=row["last_step"],
            saving_bytes=saving,
            stack=row["frames"],
        )
        for row, saving in zip(groups.iter_rows(named=True), savings, strict=True)
    ]


def _savings(blocks: Blocks, labels: pl.DataFrame, groups: pl.DataFrame) -> list[int | None]:
    """By how much the peak would be lower without a site, for the largest ones."""
    highest = int(blocks.running.max())
    most = memory_facts().owners.savings_for
    site = labels["site"].to_numpy()
    savings: list[int | None] = []
    seen: dict[int, int] = {}
    for number in groups["site"].to_list():
        if number not in seen and len(seen) < most:
            seen[number] = highest - int(blocks.running_without(np.asarray(site == number)).max())
        savings.append(seen.get(number))
    return savings


def _rest(space: Space, moment: Moment, known: int) -> list[Owner]:
    """What the line has beyond the blocks alive: older memory of which nothing is recorded, and what is unexplained."""
    rest = moment.bytes - known
    if rest == 0:
        return []
    if rest < 0:
        return [_unnamed(OVERCOUNTED, OTHER, rest, moment.bytes)]
    if space.blocks is None:
        return [_unnamed(UNRECORDED, OTHER, rest, moment.bytes)]
    # What was there from the first moment up to this one is from before the window.
    moments, unexplained = settled_residual(space)
    until = max(int(np.searchsorted(moments, moment.time_ns or 0, side="right")), 1)
    always = min(max(int(unexplained[:until].min()), 0), rest)
    parts = [(UNSEEN, BEFORE_WINDOW, always), (UNRECORDED, OTHER, rest - always)]
    return [_unnamed(kind, category, size, moment.bytes) for kind, category, size in parts if size]


def _unnamed(kind: str, category: str, size: int, whole: int) -> Owner:
    return Owner(
        owner=kind,
        kind=kind,
        bytes=size,
        share=_share(size, whole),
        blocks=None,
        category=category,
        confidence=UNKNOWN,
        operator=None,
        first_step=None,
        last_step=None,
        saving_bytes=None,
        stack=None,
    )


def category_parts(owned: list[Owner], whole: int) -> list[CategoryPart]:
    """The same sum by category and by how sure it is."""
    parts: dict[tuple[str, str], tuple[int, int | None]] = {}
    for owner in owned:
        size, blocks = parts.get((owner.category, owner.confidence), (0, None))
        more = blocks if owner.blocks is None else (blocks or 0) + owner.blocks
        parts[owner.category, owner.confidence] = size + owner.bytes, more
    rows = [CategoryPart(*key, size, _share(size, whole), blocks) for key, (size, blocks) in parts.items()]
    return sorted(rows, key=lambda part: -part.bytes)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
