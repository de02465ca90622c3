"""Judging the sites of a space by the lives of their blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.leaks.growth import Course, confidence, grows, judge
from stepscope.analysis.leaks.hidden_frees import explained_by_hidden_frees
from stepscope.analysis.leaks.levels import Levels, levels
from stepscope.analysis.leaks.structures import Birth, Site
from stepscope.analysis.leaks.trend import median_slope, r_squared
from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.categories import categorised
from stepscope.analysis.memory.phases import phases_of
from stepscope.analysis.memory.sites import sites_of
from stepscope.analysis.memory.spaces import Space
from stepscope.analysis.memory.step_windows import StepWindows
from stepscope.arrays import Int64s
from stepscope.facts.memory import memory_facts
from stepscope.store.run_store import RunStore

LEAK: Final = "leak"
NOT_LEAK: Final = "not_leak"


@dataclass(frozen=True)
class Origin:
    """How a site is called."""

    label: str
    operator: str | None
    stack: str | None
    category: str | None


@dataclass(frozen=True)
class Watched:
    """A space over the steps in which it was recorded."""

    space: Space
    windows: StepWindows
    warm_up: int
    room: int | None  # bytes left on the device
    frees_are_hidden: bool = False  # some blocks may be freed unseen


def judged_sites(store: RunStore, watched: Watched, blocks: Blocks, *, by_size: bool = True) -> tuple[list[Site], int]:
    """Sites with their verdicts, and how many temporary ones were left out."""
    space, windows = watched.space, watched.windows
    numbers, known = sites_of(store, space.rank, blocks.frame, by_size=by_size)
    site = numbers.to_numpy().astype(np.int64)
    site_levels = levels(blocks, site, windows)
    most = memory_facts().leaks.most_temporary_sites
    taken = np.bincount(site, weights=blocks.bytes, minlength=len(known))[site_levels.temporary]
    shown = site_levels.temporary[np.argsort(-taken, kind="stable")][:most]
    here = ~blocks.older
    category = pl.Series([None] * len(site), dtype=pl.String)
    if len(site_levels.sites) or not here.all():
        category = categorised(blocks, phases_of(store, space.rank, blocks, windows), windows)["category"]
    origins = _origins(known, site[here], category.filter(here), blocks.bytes[here])
    older = _origins(known, site[~here], category.filter(~here), blocks.bytes[~here])
    rows = [_judged(watched, origins[number], site_levels, row) for row, number in enumerate(site_levels.sites)]
    rows += [_quiet(watched, origins[number], "freed_in_step") for number in shown.tolist()]
    alive = blocks.older & (blocks.free_ns >= windows.end[-1])
    for number in np.unique(site[alive]).tolist():
        own = alive & (site == number)
        held = int(blocks.bytes[own].sum()), int(own.sum())
        rows.append(_quiet(watched, older[number], "before_window", held))
    return rows, len(site_levels.temporary) - len(shown)


def _origins(known: pl.DataFrame, site: Int64s, category: pl.Series, bytes_of: Int64s) -> list[Origin]:
    """Names of all sites, with the category that most of their bytes have."""
    sums = (
        pl.DataFrame({"site": site, "category": category, "bytes": bytes_of})
        .group_by("site", "category")
        .agg(pl.col("bytes").sum())
        .with_columns(pl.col("category").cast(pl.String))
        .sort("bytes", "category")
        .group_by("site", maintain_order=True)
        .agg(pl.col("category").last())
    )
    most = dict(sums.iter_rows())
    rows = enumerate(known.select("label", "operator", "frames").iter_rows())
    return [Origin(label, operator, frames, most.get(number)) for number, (label, operator, frames) in rows]


def _judged(watched: Watched, origin: Origin, levels_of_sites: Levels, row: int) -> Site:
    windows, warm_up, room = watched.windows, watched.warm_up, watched.room
    course = Course(
        levels_of_sites.held[row],
        levels_of_sites.kept[row],
        levels_of_sites.kept_blocks[row],
        levels_of_sites.allocations[row],
        int(levels_of_sites.depth[row]),
        int(levels_of_sites.distinct_sizes[row]),
        windows.number,
    )
    finding = judge(course, warm_up)
    if watched.frees_are_hidden:
        finding = explained_by_hidden_frees(finding, course, warm_up)
    start = finding.start if finding.leaks else warm_up - 1
    held = course.held[start:]
    slope = median_slope(held)
    growth, total = int(held[-1] - held[0]), int((levels_of_sites.held[:, -1] - levels_of_sites.held[:, start]).sum())
    births = [
        Birth(int(windows.number[step]), int(course.kept_blocks[step]), int(course.kept[step]))
        for step in np.flatnonzero(course.kept).tolist()
    ]
    quiet = _quiet(watched, origin, finding.reason, (int(held[-1]), int(course.kept_blocks.sum())))
    return msgspec.structs.replace(
        quiet,
        verdict=LEAK if finding.leaks else NOT_LEAK,
        confidence=confidence(len(held) - 1),
        reason_values=finding.values,
        bytes_per_step=slope,
        r_squared=r_squared(held),
        growth_bytes=growth,
        growth_share=growth / total if total > 0 else None,
        first_step=births[0].step if births else None,
        oldest_age_steps=int(len(windows) - 1 - np.argmax(course.kept > 0)) if births else None,
        intervals=len(held) - 1,
        in_step_blocks=int(levels_of_sites.in_step_blocks[row]),
        steps_to_oom=int(room / slope) if finding.leaks and room is not None and slope > 0 else None,
        births=births if finding.leaks else [],
    )


def _quiet(watched: Watched, origin: Origin, reason: str, held: tuple[int, int] = (0, 0)) -> Site:
    """A site that keeps nothing from one step to the next; ``held``: bytes and blocks alive at the end."""
    space, intervals = watched.space, len(watched.windows) - watched.warm_up
    return Site(
        rank=space.rank,
        device=space.device,
        pool=space.component,
        site=origin.label,
        operator=origin.operator,
        verdict=NOT_LEAK,
        confidence=confidence(intervals),
        reason=reason,
        reason_values={},
        bytes_per_step=0.0,
        r_squared=None,
        growth_bytes=0,
        growth_share=None,
        bytes_at_end=held[0],
        blocks=held[1],
        first_step=None,
        oldest_age_steps=None,
        intervals=intervals,
        in_step_blocks=0,
        category=origin.category,
        steps_to_oom=None,
        leaking_ranks=[],
        graph=None,
        births=[],
        stack=origin.stack,
    )


def judged_curve(watched: Watched, held: Int64s, recorder_bytes: int) -> Site:
    """A space known only by its curve, as one site; ``held``: its bytes at the ends of steps, of which those of the
    recorder may be ``recorder_bytes`` at the last."""
    space, room = watched.space, watched.room
    levels_seen = held[watched.warm_up - 1 :]
    rises, slope = grows(levels_seen), median_slope(levels_seen)
    leaking = rises and slope > 0 and levels_seen[-1] - levels_seen[0] > recorder_bytes
    origin = Origin(space.component, None, None, None)
    reason = "curve_grows" if leaking else "held_by_recorder" if rises and recorder_bytes else "curve_does_not_grow"
    judged = _quiet(watched, origin, reason, (int(held[-1]), 0))
    return msgspec.structs.replace(
        judged,
        confidence="suspect" if space.component in memory_facts().leaks.only_suspected else judged.confidence,
        verdict=LEAK if leaking else NOT_LEAK,
        bytes_per_step=slope,
        r_squared=r_squared(levels_seen),
        growth_bytes=int(levels_seen[-1] - levels_seen[0]),
        first_step=int(watched.windows.number[watched.warm_up]) if leaking else None,
        steps_to_oom=int(room / slope) if leaking and room is not None and slope > 0 else None,
    )
