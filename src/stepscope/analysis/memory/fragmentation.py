"""Memory that is reserved but cannot be used: at the peak, and in the segments at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.free_runs import FreeRuns, free_runs, segments_of
from stepscope.analysis.memory.peak import Moment
from stepscope.analysis.memory.spaces import Space
from stepscope.analysis.memory.structures import Fragmentation
from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore


def fragmentation(store: RunStore, space: Space, peak: Moment) -> Fragmentation | None:
    """Null where the capture does not tell what the allocator holds."""
    reserved = space.lines.get("reserved")
    used = space.in_use
    if reserved is None or used is None or peak.row < 0 or not reserved.any():
        return None
    held, in_use = int(reserved[peak.row]), int(used[peak.row])
    if held < in_use:  # inconsistent: what is reserved was measured in another way or at another moment
        return None
    growths, with_room = _growths(reserved, used)
    segments = segments_of(store, space.rank, space.device)
    parts: dict[str, Any] = {}
    if len(segments) and space.blocks is not None:
        blocks = space.blocks
        live = blocks.frame.filter(blocks.stays)
        runs = free_runs(segments, live["address"], blocks.bytes[blocks.stays])
        end_reserved, end_active = int(segments["bytes"].sum()), int(blocks.bytes[blocks.stays].sum())
        parts = _shares(end_reserved, end_active, _requested(blocks), runs)
    return Fragmentation(
        peak_reserved_bytes=held,
        peak_idle_bytes=held - in_use,
        peak_idle_share=(held - in_use) / held if held else 0.0,
        growths=growths,
        growths_with_room=with_room,
        **{name: parts.get(name) for name in _FROM_SEGMENTS},
    )


_FROM_SEGMENTS = (
    "end_reserved_bytes",
    "end_active_bytes",
    "end_requested_bytes",
    "idle_share",
    "rounding_share",
    "external_share",
    "spread_share",
    "largest_free_bytes",
    "free_bytes",
    "free_runs",
    "releasable_bytes",
)


def _requested(blocks: Blocks) -> int | None:
    live = blocks.frame.filter(blocks.stays)["requested_bytes"]
    return None if live.null_count() else int(live.sum())


def _shares(reserved: int, active: int, requested: int | None, runs: FreeRuns | None) -> dict[str, Any]:
    shares: dict[str, Any] = {
        "end_reserved_bytes": reserved,
        "end_active_bytes": active,
        "end_requested_bytes": requested,
        "idle_share": (reserved - active) / reserved,
        "rounding_share": (active - requested) / active if requested is not None and active else None,
    }
    if runs is not None:
        squares = float(np.sqrt((runs.sizes.astype(np.float64) ** 2).sum()))
        shares |= {
            "external_share": 1 - runs.largest / runs.free if runs.free else 0.0,
            "spread_share": 1 - squares / runs.free if runs.free else 0.0,
            "largest_free_bytes": runs.largest,
            "free_bytes": runs.free,
            "free_runs": len(runs.sizes),
            "releasable_bytes": runs.releasable,
        }
    return shares


def _growths(reserved: Int64s, used: Int64s) -> tuple[int, int]:
    """How often the allocator took more from the device, and how often it had enough free memory for the request."""
    rises = np.flatnonzero(np.diff(reserved) > 0) + 1
    if not len(rises):
        return 0, 0
    asked = np.diff(used, prepend=used[0])
    requests = np.flatnonzero(asked > 0)
    following = np.searchsorted(requests, rises)
    there = following < len(requests)
    request = np.where(there, asked[requests[np.minimum(following, len(requests) - 1)]] if len(requests) else 0, 0)
    room = reserved[rises - 1] - used[rises - 1]
    return len(rises), int((there & (request > 0) & (request <= room)).sum())
