"""Failed allocations: too little memory, fragmented memory, or memory held by other processes."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.memory.free_runs import free_runs, segments_of
from stepscope.analysis.memory.spaces import Space
from stepscope.analysis.memory.step_windows import StepWindows
from stepscope.analysis.memory.structures import OutOfMemory
from stepscope.store.run_store import RunStore

TOO_LARGE, FRAGMENTATION, OTHERS, SHORTAGE, UNKNOWN = "too_large", "fragmentation", "others", "shortage", "unknown"
_KIND: Final = "oom"


def out_of_memory(store: RunStore, rank: int, spaces: list[Space], windows: StepWindows) -> list[OutOfMemory]:
    """The failures of a rank in time order."""
    events = (
        store.scan("memory_events", [rank])
        .filter((pl.col("kind").cast(pl.String) == _KIND) & pl.col("time_ns").is_not_null())
        .select(pl.col("device").cast(pl.String), "time_ns", "bytes", "free_bytes", "stack")
        .sort("time_ns", maintain_order=True)
        .collect()
    )
    if events.is_empty():
        return []
    stacks = store.scan("stacks", [rank]).filter(pl.col("stack").is_in(events["stack"].drop_nulls().implode()))
    frames = dict(stacks.select("stack", "frames").collect().iter_rows())
    capacity = capacity_of(store, rank)
    failures = []
    for device, time_ns, asked, device_free, stack in events.iter_rows():
        space = next((one for one in spaces if one.device == device and "reserved" in one.lines), None)
        reserved, free, largest = _pool_then(store, space, time_ns)
        others = None
        if None not in (capacity, reserved, device_free):
            others = max(int(capacity or 0) - int(reserved or 0) - int(device_free), 0)
        failures.append(
            OutOfMemory(
                rank=rank,
                device=device or "unknown",
                time_ns=time_ns,
                step=windows.number_at(time_ns),
                cause=cause(asked, device_free, reserved, free, largest, capacity),
                requested_bytes=asked,
                device_free_bytes=device_free,
                reserved_bytes=reserved,
                pool_free_bytes=free,
                largest_free_bytes=largest,
                capacity_bytes=capacity,
                others_bytes=others,
                stack=frames.get(stack),
            )
        )
    return failures


def capacity_of(store: RunStore, rank: int) -> int | None:
    """Memory of the rank's device."""
    capacity = store.scan("ranks", [rank]).select("memory_capacity").collect()["memory_capacity"].drop_nulls()
    return int(capacity[0]) if len(capacity) else None


def _pool_then(store: RunStore, space: Space | None, time_ns: int) -> tuple[int | None, int | None, int | None]:
    """What the pool held, what of it was free, and the largest free run; the last needs the segments of that time."""
    if space is None or not len(space.time):
        return None, None, None
    row = max(int(np.searchsorted(space.time, time_ns, side="right")) - 1, 0)
    reserved = int(space.lines["reserved"][row])
    used = space.in_use
    if used is None:
        return reserved, None, None
    free = reserved - int(used[row])
    segments = segments_of(store, space.rank, space.device)
    if space.blocks is None or int(segments["bytes"].sum()) != reserved:
        return reserved, free, None  # segments are those at the end, and others were held then
    alive = space.blocks.alive(space.blocks.state_at(time_ns))
    runs = free_runs(segments, space.blocks.frame["address"].filter(alive), space.blocks.bytes[alive])
    return reserved, free, None if runs is None else runs.largest


def cause(
    asked: int | None,
    device_free: int | None,
    reserved: int | None,
    free: int | None,
    largest: int | None,
    capacity: int | None,
) -> str:
    """The first that fits.

    >>> cause(6, device_free=0, reserved=20, free=10, largest=4, capacity=20)
    'fragmentation'
    >>> cause(6, device_free=1, reserved=10, free=2, largest=2, capacity=20)
    'others'
    """
    if asked is None:
        return UNKNOWN
    if capacity is not None and asked > capacity:
        return TOO_LARGE
    if free is not None and free >= asked and (largest is None or largest < asked):
        return FRAGMENTATION
    if free is None or device_free is None:
        return UNKNOWN
    if capacity is not None and reserved is not None:
        others = capacity - reserved - device_free
        if others > 0 and free + device_free + others >= asked:
            return OTHERS
    return SHORTAGE
