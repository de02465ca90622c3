"""Spaces: an allocator or driver module of one device, with the lines that the capture has of it and its blocks.

Spaces lie inside each other (the driver's memory holds the framework's pool), so they are never added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.rank_cache import cached_per_rank
from stepscope.analysis.memory.blocks import Blocks, blocks_of, ordered
from stepscope.arrays import Int64s
from stepscope.facts.memory import memory_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore

LINES: Final = ("allocated", "active", "reserved")
_UNNAMED: Final = "allocator"
# The framework's own pool: blocks of which no pool is told are its.
_FRAMEWORK: Final = "caching allocator"


@dataclass(frozen=True)
class Space:
    """What is known of one space. ``lines`` hold from their moment on; without any, they are made from the blocks."""

    rank: int
    device: str
    component: str
    time: Int64s
    lines: dict[str, Int64s]
    blocks: Blocks | None
    measure: str  # the line that the blocks explain, and whose peak is meant
    stated: bool  # the lines are the allocator's own, not made from blocks

    @property
    def line(self) -> Int64s:
        return self.lines[self.measure]

    @property
    def in_use(self) -> Int64s | None:
        """Memory that is in use: active memory, which contains what is allocated.

        A sum of allocators lacks the active part of one that does not tell it.
        """
        told = [self.lines[name] for name in ("allocated", "active") if name in self.lines]
        return np.maximum(told[0], told[-1]) if told else None

    @property
    def accelerator(self) -> bool:
        return not self.device.startswith("cpu")


@cached_per_rank
def spaces_of(store: RunStore, rank: int) -> tuple[list[Space], list[Note]]:
    """The spaces of a rank, and remarks on its blocks."""
    notes: list[Note] = []
    frame = blocks_of(store, rank, notes)
    curves = store.scan("memory", [rank]).select("device", "component", "time_ns", *LINES).collect()
    curves = curves.with_columns(pl.col("device").fill_null("unknown"), pl.col("component").fill_null(_UNNAMED))
    if not curves["time_ns"].is_sorted():
        curves = curves.sort("time_ns", maintain_order=True)
    spaces: list[Space] = []
    for device in sorted({*curves["device"].unique(), *frame["device"].unique()}):
        spaces += _of_device(rank, device, curves.filter(device=device), frame.filter(device=device))
    return spaces, notes


def _of_device(rank: int, device: str, curves: pl.DataFrame, blocks: pl.DataFrame) -> list[Space]:
    names = curves["component"].unique(maintain_order=True).to_list()
    parts = {name: curves.filter(component=name) for name in names}
    with_lines = [name for name, part in parts.items() if part["allocated"].count()]
    pools = blocks["pool"].unique().to_list()
    covered = {name: _pools_of(name, pools, with_lines) for name in with_lines}
    spaces = [_stated(rank, device, name, part, blocks, covered.get(name, [])) for name, part in parts.items()]
    alone = [pool for pool in pools if not any(pool in its for its in covered.values())]
    for pool in alone:
        own = ordered(blocks.filter(pl.col("pool").eq_missing(pool)))
        if len(own.frame):
            spaces.append(_from_blocks(rank, device, pool or _UNNAMED, own))
    return spaces


def _pools_of(component: str, pools: list[str | None], components: list[str]) -> list[str | None]:
    """Pools whose blocks a component counts: those of its name, of a sum's parts, or all if it is the only one."""
    if len(components) == 1:
        return pools
    names = {part.strip().lower() for part in component.split("+")}
    return [pool for pool in pools if (_FRAMEWORK if pool is None else pool.lower()) in names]


def _stated(
    rank: int, device: str, component: str, rows: pl.DataFrame, blocks: pl.DataFrame, pools: list[str | None]
) -> Space:
    time = rows["time_ns"].to_numpy()
    lines = {
        name: rows[name].fill_null(strategy="forward").fill_null(strategy="backward").to_numpy()
        for name in LINES
        if rows[name].count()
    }
    own = ordered(blocks.filter(pl.col("pool").is_in(pools, nulls_equal=True))) if pools else None
    if own is not None and not len(own.frame):
        own = None
    measure = next(name for name in LINES if name in lines)
    if own is not None and {"allocated", "active"} <= lines.keys():
        measure = min(("allocated", "active"), key=lambda name: _unrest(time, lines[name], own))
    return Space(rank, device, component, time, lines, own, measure, stated=True)


def _from_blocks(rank: int, device: str, pool: str, blocks: Blocks) -> Space:
    first = blocks.time[:1] if len(blocks.time) else np.zeros(1, np.int64)
    time = np.append(first, blocks.time)
    return Space(rank, device, pool, time, {"allocated": blocks.running}, blocks, "allocated", stated=False)


def residual(time: Int64s, line: Int64s, blocks: Blocks) -> tuple[Int64s, Int64s]:
    """What a line has beyond the recorded blocks: moments, and bytes after all that happened then."""
    last = np.append(time[1:] != time[:-1], True)
    moments = time[last]
    return moments, line[last] - blocks.running[np.searchsorted(blocks.time, moments, side="right")]


def settled_residual(space: Space) -> tuple[Int64s, Int64s]:
    """The same for moments that last: counter and blocks may tell of one event a moment apart."""
    if space.blocks is None or not len(space.time):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    moments, rest = residual(space.time, space.line, space.blocks)
    lasts = np.append(np.diff(moments) >= memory_facts().owners.settled_ns, True)
    return moments[lasts], rest[lasts]


def _unrest(time: Int64s, line: Int64s, blocks: Blocks) -> int:
    """How often the residual changes; never where the blocks explain the curve."""
    return int(np.count_nonzero(np.diff(residual(time, line, blocks)[1])))
