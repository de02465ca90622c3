"""Memory in use over time, replayed backwards from the state at the end, so that it ends there to the byte."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NULL, Int64s
from stepscope.readers.memory_snapshot.block_lives import NEVER, Lives
from stepscope.readers.memory_snapshot.trace_columns import Trace
from stepscope.readers.trace_json.codes import Codes

COMPONENT: Final = "caching allocator"
_RESERVES: Final = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}


def curve(trace: Trace, actions: Codes, lives: Lives, size: Int64s, reserved: int) -> pl.DataFrame:
    """Rows of ``memory`` for one device: before the first event, and after each that changes something.

    ``reserved`` is what the segments hold at the end. What is allocated and active at the end are the open lives.
    """
    allocated, active = np.zeros(len(trace), np.int64), np.zeros(len(trace), np.int64)
    _add(allocated, lives.born, size)
    _add(active, lives.born, size)
    _add(allocated, np.where(lives.asked != NEVER, lives.asked, lives.lost_at), -size)
    _add(active, np.where(lives.ended != NEVER, lives.ended, lives.lost_at), -size)
    sign = np.array([_RESERVES.get(action, 0) for action in actions] or [0])[trace.action]
    held = sign * np.where(trace.size == NULL, 0, trace.size)
    final_active = int(size[lives.open].sum())
    final_allocated = int(size[lives.open & (lives.asked == NEVER)].sum())
    values = {
        "allocated": _back_from(final_allocated, allocated),
        "reserved": _back_from(reserved, held),
        "active": _back_from(final_active, active),
    }
    changes = np.append(True, (allocated != 0) | (active != 0) | (held != 0))
    start = trace.time[:1] if len(trace) else np.zeros(1, np.int64)
    frame = pl.DataFrame({"time_ns": np.append(start, trace.time), **values})
    return frame.filter(pl.Series(changes)).with_columns(component=pl.lit(COMPONENT))


def _add(total: Int64s, events: Int64s, change: Int64s) -> None:
    there = events >= 0
    np.add.at(total, events[there], change[there])


def _back_from(final: int, change: Int64s) -> Int64s:
    """The value before the first change, and after each."""
    after = np.cumsum(np.append(0, change))
    return np.asarray(after + (final - after[-1]), np.int64)
