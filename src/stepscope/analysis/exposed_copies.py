"""Copies during which the device neither computes nor communicates, by their direction.

Collectives of the host (gloo, MPI) copy the tensors of a device through its memory: those copies are theirs, and
are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.copies import UNKNOWN, with_kinds
from stepscope.analysis.foundation.host_activity import host_of
from stepscope.analysis.foundation.intervals import difference, union
from stepscope.analysis.foundation.launched import launched_of
from stepscope.analysis.foundation.work import COPY, Work, work_of
from stepscope.arrays import NONE, Bools, Int64s
from stepscope.facts.communication import communication_facts
from stepscope.facts.operators import operators_facts
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class ExposedCopies:
    """Copies of one direction in some steps of a rank."""

    kind: str  # host_to_device, device_to_host, …
    name: str  # of those that take longest together
    exposed_ns: int
    pageable_ns: int  # of it, in copies from or to memory that is not pinned
    pageable_bytes: int  # what all of those move, as far as it was recorded
    bytes: int  # what all copies of the direction move
    longest: tuple[tuple[int, int, int], ...]  # slice, start and end of some copies, the longest first


def exposed_copies(store: RunStore, rank: int, steps: Sequence[int], most: int) -> list[ExposedCopies]:
    """By direction, the costliest first; copies of which nothing tells the direction are left out."""
    work = work_of(store, rank)
    if not work.on_device:
        return []
    is_copy = work.of(COPY)
    others = union(work.start[~is_copy], work.end[~is_copy])
    chosen = np.flatnonzero(is_copy & np.isin(work.step, np.asarray(steps, np.int64)))
    chosen = chosen[~_for_collectives(store, rank, work, work.slice[chosen])]
    names = [str(work.name[int(position)]) for position in chosen]
    rows = _rows_of(store, rank, work.slice[chosen])
    kinds = np.array([rows[number][0] for number in work.slice[chosen].tolist()], str)
    is_pageable = re.compile(operators_facts().pageable.pattern).search
    pageable = np.array([bool(is_pageable(name)) for name in names], bool)

    size = np.array([rows[number][1] for number in work.slice[chosen].tolist()], np.int64)

    def exposed(which: Bools) -> int:
        own = chosen[which]
        return difference(union(work.start[own], work.end[own]), others).length

    copies = []
    for kind in sorted({*kinds.tolist()} - {UNKNOWN}):
        of_kind = kinds == kind
        own = chosen[of_kind]
        own = own[np.argsort(work.start[own] - work.end[own], kind="stable")]
        name = _longest_name(work, own)
        longest = tuple((int(work.slice[at]), int(work.start[at]), int(work.end[at])) for at in own[:most].tolist())
        exposed_ns, pageable_ns = exposed(of_kind), exposed(of_kind & pageable)
        moved, pageable_moved = int(size[of_kind].sum()), int(size[of_kind & pageable].sum())
        copies.append(ExposedCopies(kind, name, exposed_ns, pageable_ns, pageable_moved, moved, longest))
    return sorted(copies, key=lambda each: -each.exposed_ns)


def _for_collectives(store: RunStore, rank: int, work: Work, slices: Int64s) -> Bools:
    """Which of these slices were launched inside a collective of the host."""
    host = host_of(store, rank)
    staging = host.name.cast(pl.String).str.contains(communication_facts().staging).fill_null(False).to_numpy()
    if not staging.any():
        return np.zeros(len(slices), np.bool_)
    launched = launched_of(store, rank, host, work)
    calls = launched.call[launched.call != NONE]
    inside = np.zeros(len(host.slice), np.bool_)
    for thread in np.unique(host.thread[staging]).tolist():
        own = calls[host.thread[calls] == thread]
        around = host.where(staging & (host.thread == thread))
        inside[own] = around.covered_within(host.start[own], host.end[own]) == host.end[own] - host.start[own]
    of_call = launched.slice[(launched.call != NONE) & inside[launched.call]]
    return np.isin(slices, of_call)


def _rows_of(store: RunStore, rank: int, slices: Int64s) -> dict[int, tuple[str, int]]:
    """By slice its direction, and how many bytes it moves, 0 where that was not recorded."""
    columns = ["slice", "name", "type", "operator", "bytes"]
    rows = store.scan("slices", [rank]).filter(pl.col("slice").is_in(slices.tolist())).select(columns).collect()
    known = with_kinds(store, rank, rows).select("slice", "kind", pl.col("bytes").fill_null(0))
    return {number: (kind, size) for number, kind, size in known.iter_rows()}


def _longest_name(work: Work, positions: Int64s) -> str:
    total: dict[str, int] = {}
    for at in positions.tolist():
        name = str(work.name[at])
        total[name] = total.get(name, 0) + int(work.end[at] - work.start[at])
    return max(total, key=lambda name: total[name])
