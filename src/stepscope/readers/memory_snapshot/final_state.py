"""The segments and blocks that the allocator held when the snapshot was taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import Bools, Int64s
from stepscope.readers.memory_snapshot.stack_texts import StackTexts
from stepscope.readers.memory_snapshot.trace_columns import pool_of

_HIGHEST_ADDRESS: Final = 1 << 62
MOST_DEVICES: Final = 1024
LARGEST_SIZE: Final = 1 << 48
_PENDING: Final = ("active_pending_free", "active_awaiting_free")
DEFAULT_POOL: Final = (0, 0)


@dataclass(frozen=True)
class Segment:
    device: int
    address: int
    size: int
    stream: int
    kind: str | None
    expandable: bool
    pool: tuple[int, int]
    stated: int | None  # bytes in use, as the allocator counted them


@dataclass(frozen=True)
class Blocks:
    """Blocks in use at the end, one entry each."""

    segment: Int64s
    device: Int64s
    address: Int64s
    size: Int64s
    requested: Int64s
    pending: Bools  # given back, but a stream may still use it
    stack: Int64s

    def __len__(self) -> int:
        return len(self.address)

    def of(self, device: int) -> Blocks:
        """Those of one device."""
        own = self.device == device
        return Blocks(**{name: getattr(self, name)[own] for name in self.__dataclass_fields__})


@dataclass
class FinalState:
    segments: list[Segment]
    blocks: Blocks
    dropped: int = 0  # elements that are no segment or block

    def frame(self, device_name: dict[int, str]) -> pl.DataFrame:
        """Rows of ``segments``."""
        count = len(self.segments)
        held, waiting = np.zeros(count, np.int64), np.zeros(count, np.int64)
        np.add.at(held, self.blocks.segment, self.blocks.size)
        np.add.at(waiting, self.blocks.segment, self.blocks.size * self.blocks.pending)
        rows = [
            {
                "device": device_name[segment.device],
                "stream": segment.stream,
                "address": segment.address,
                "bytes": segment.size,
                "allocated_bytes": int(held[index] - waiting[index]),
                "active_bytes": int(held[index]),
                "kind": "expandable" if segment.expandable else segment.kind,
            }
            for index, segment in enumerate(self.segments)
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def pool_at(self, device: int, address: Int64s) -> list[tuple[int, int]]:
        """The pool of the segment around each address, the default one outside all."""
        own = sorted((s.address, s.address + s.size, s.pool) for s in self.segments if s.device == device)
        starts = np.array([start for start, _, _ in own], np.int64)
        segments = np.searchsorted(starts, address, side="right") - 1
        return [
            own[index][2] if index >= 0 and where < own[index][1] else DEFAULT_POOL
            for index, where in zip(segments.tolist(), address.tolist(), strict=True)
        ]


def read_segments(listed: Any, stacks: StackTexts) -> FinalState:
    """From the ``segments`` list of a snapshot of any version."""
    segments: list[Segment] = []
    rows: list[tuple[int, ...]] = []
    dropped = 0
    for item in listed if isinstance(listed, list) else ():
        segment = _segment(item)
        if segment is None:
            dropped += 1
            continue
        address = segment.address
        blocks = item.get("blocks")
        for block in blocks if isinstance(blocks, list) else ():
            size = _number_below(block.get("size"), largest=LARGEST_SIZE) if isinstance(block, dict) else None
            if size is None:
                dropped += 1
                continue
            # Blocks lie one behind the other; older versions do not say where.
            address = _number_below(block.get("address"), address)
            state = block.get("state")
            if isinstance(state, str) and state.startswith("active"):
                requested, frames = _asked_for(block, size)
                rows.append(
                    (len(segments), segment.device, address, size, requested, state in _PENDING, stacks.number(frames))
                )
            address += size
        segments.append(segment)
    columns = np.array(rows, np.int64).reshape(-1, 7).T
    where, device, addresses, size_of, asked, pending, stack = columns
    return FinalState(segments, Blocks(where, device, addresses, size_of, asked, pending == 1, stack), dropped)


def _segment(item: Any) -> Segment | None:
    if not isinstance(item, dict):
        return None
    address, size = _number_below(item.get("address")), _number_below(item.get("total_size"), largest=LARGEST_SIZE)
    if address is None or size is None:
        return None
    kind = item.get("segment_type")
    return Segment(
        device=_number_below(item.get("device"), 0, MOST_DEVICES),
        address=address,
        size=size,
        stream=_number_below(item.get("stream"), 0),
        kind=kind[:40] if isinstance(kind, str) else None,
        expandable=item.get("is_expandable") is True,
        pool=pool_of(item.get("segment_pool_id")) or DEFAULT_POOL,
        stated=_number_below(item.get("active_size")),
    )


def _asked_for(block: dict[str, Any], size: int) -> tuple[int, Any]:
    """Bytes asked for, and the stack; until version 2.0 both stand in a history, newest first."""
    history = block.get("history")
    if isinstance(history, list) and history and isinstance(history[0], dict):
        return _number_below(history[0].get("real_size"), size), history[0].get("frames")
    return _number_below(block.get("requested_size"), size), block.get("frames")


def _number_below(value: Any, otherwise: Any = None, largest: int = _HIGHEST_ADDRESS) -> Any:
    """The value if it is a number that a size or an address can be."""
    return value if type(value) is int and 0 <= value < largest else otherwise
