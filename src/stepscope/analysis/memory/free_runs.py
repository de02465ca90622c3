"""Where a caching allocator's segments are free: runs between the blocks that live in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class FreeRuns:
    """Sizes of free runs, and bytes of the segments in which nothing lives."""

    sizes: Int64s
    releasable: int

    @property
    def free(self) -> int:
        return int(self.sizes.sum())

    @property
    def largest(self) -> int:
        return int(self.sizes.max(initial=0))


def segments_of(store: RunStore, rank: int, device: str) -> pl.DataFrame:
    """Segments that the allocator held at the end, by address."""
    rows = store.scan("segments", [rank]).filter(pl.col("device").cast(pl.String) == device)
    columns = ("address", "bytes", "active_bytes")
    return (
        rows.filter(pl.col("address").is_not_null() & (pl.col("bytes") > 0)).select(columns).sort("address").collect()
    )


def free_runs(segments: pl.DataFrame, address: pl.Series, size: Int64s) -> FreeRuns | None:
    """Gaps between live blocks, given by address and size; null where an address is not recorded."""
    if segments.is_empty() or address.null_count():
        return None
    starts = segments["address"].to_numpy()
    ends = starts + segments["bytes"].to_numpy().astype(np.uint64)
    order = np.argsort(address.to_numpy(), kind="stable")
    block = address.to_numpy()[order]
    block_end = block + size[order].astype(np.uint64)
    inside = np.searchsorted(starts, block, side="right") - 1
    there = (inside >= 0) & (block < ends[inside])
    block, block_end, inside = block[there], np.minimum(block_end[there], ends[inside[there]]), inside[there]
    # Each gap ends with a block or with its segment, and begins behind the block before, or with the segment.
    gap_end = np.concatenate((block, ends))
    owner = np.concatenate((inside, np.arange(len(starts))))
    last = np.concatenate((np.zeros(len(block), np.int64), np.ones(len(starts), np.int64)))
    order = np.lexsort((last, gap_end, owner))
    reached = np.concatenate((block_end, ends))[order]
    owner = owner[order]
    gap_start = np.append(starts[:1], reached[:-1])
    gap_start = np.where(np.append(True, owner[1:] != owner[:-1]), starts[owner], gap_start)
    ending = gap_end[order]
    sizes = np.where(ending > gap_start, ending - gap_start, 0).astype(np.int64)
    used = np.bincount(inside, minlength=len(starts)) > 0
    return FreeRuns(sizes[sizes > 0], int(segments["bytes"].to_numpy()[~used].sum()))
