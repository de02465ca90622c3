"""From where a group of slices was called: recorded stacks, else the Python frames around the call.

A kernel is called where its operator is, and what runs in a backward pass where its forward operator is.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.operators.nesting import NOWHERE, Nesting
from stepscope.analysis.operators.ownership import ownership_of
from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore

#: Slices that stand for a line of the user's program.
_FRAMES: Final = ("python", "module")
_MOST_FRAMES: Final = 64


def call_sites(store: RunStore, rank: int, rows: pl.DataFrame, limit: int) -> list[tuple[list[str], int, int]]:
    """Frames, outermost first, with number and nanoseconds of the slices called from there; the most time first."""
    owners = ownership_of(store, rank)
    own = owners.nesting.positions(rows["slice"].to_numpy())
    launcher = owners.owner[own]
    caller = np.where(launcher == NOWHERE, own, launcher)
    forward = owners.forward_of(caller)
    caller = np.where(forward == NOWHERE, caller, forward)
    stacks = _recorded_stacks(store, rank, owners.nesting, own, caller)
    if (stacks != NOWHERE).any():
        largest = _largest(rows, stacks, limit)
        frames = _frames_of_stacks(store, rank, [stack for stack, _, _ in largest])
        return [(frames[stack], count, total) for stack, count, total in largest if stack in frames]
    frame = owners.nesting.nearest(owners.nesting.mask(*_FRAMES))[caller]
    largest = _largest(rows, _first_of_name(store, rank, owners.nesting, frame), limit)
    return [(_chain(store, rank, owners.nesting, position), count, total) for position, count, total in largest]


def _recorded_stacks(store: RunStore, rank: int, nesting: Nesting, own: Int64s, caller: Int64s) -> Int64s:
    """Each slice's own stack, else that of the operator that launched it."""
    known = store.scan("slices", [rank]).filter(pl.col("stack").is_not_null()).select("slice", "stack").collect()
    stack = np.full(nesting.size + 1, NOWHERE)
    stack[nesting.positions(known["slice"].to_numpy())] = known["stack"].cast(pl.Int64).to_numpy()
    stack[NOWHERE] = NOWHERE
    return np.where(stack[own] == NOWHERE, stack[caller], stack[own])


def _largest(rows: pl.DataFrame, site: Int64s, limit: int) -> list[tuple[int, int, int]]:
    sites = pl.DataFrame({"site": site, "dur_ns": rows["dur_ns"]}).filter(pl.col("site") != NOWHERE)
    totals = sites.group_by("site").agg(count=pl.len(), total=pl.col("dur_ns").sum())
    return totals.sort("total", "site", descending=[True, False]).head(limit).rows()


def _frames_of_stacks(store: RunStore, rank: int, stacks: list[int]) -> dict[int, list[str]]:
    rows = store.scan("stacks", [rank]).filter(pl.col("stack").is_in(stacks)).select("stack", "frames").collect()
    return {stack: (frames or "").splitlines()[:_MOST_FRAMES] for stack, frames in rows.iter_rows()}


def _first_of_name(store: RunStore, rank: int, nesting: Nesting, frame: Int64s) -> Int64s:
    """Frames of one name are one place in the program: the first of them stands for all."""
    positions = np.unique(frame[frame != NOWHERE])
    if not len(positions):
        return frame
    names = _names(store, rank, nesting, positions)
    first = names.group_by("name").agg(first=pl.col("position").min())
    stand_in = np.full(nesting.size + 1, NOWHERE)
    joined = names.join(first, on="name")
    stand_in[joined["position"].to_numpy()] = joined["first"].to_numpy()
    return stand_in[frame]


def _names(store: RunStore, rank: int, nesting: Nesting, positions: Int64s) -> pl.DataFrame:
    kinds = pl.col("kind").is_in(list(_FRAMES))
    rows = store.scan("slices", [rank]).filter(kinds).select("slice", pl.col("name").cast(pl.String)).collect()
    rows = rows.select("name", position=pl.Series(nesting.positions(rows["slice"].to_numpy())))
    return rows.filter(pl.col("position").is_in(positions.tolist()))


def _chain(store: RunStore, rank: int, nesting: Nesting, position: int) -> list[str]:
    """The names of a frame and of those around it, outermost first."""
    mask = nesting.mask(*_FRAMES)
    above: list[int] = []
    while position != NOWHERE and len(above) < _MOST_FRAMES:
        if mask[position]:
            above.append(position)
        position = int(nesting.parent[position])
    names = dict(_names(store, rank, nesting, np.array(above)).select("position", "name").iter_rows())
    return [names[each] for each in reversed(above) if each in names]
