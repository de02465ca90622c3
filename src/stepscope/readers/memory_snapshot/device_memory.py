"""The memory of one device: blocks with their lives, the curve, and what the allocator did besides."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from stepscope.arrays import NULL, Int64s
from stepscope.readers.memory_snapshot.block_lives import NEVER, pair, with_older
from stepscope.readers.memory_snapshot.block_sizes import Regions, Rounding, sizes
from stepscope.readers.memory_snapshot.curve import COMPONENT, curve
from stepscope.readers.memory_snapshot.final_state import DEFAULT_POOL, FinalState
from stepscope.readers.memory_snapshot.stack_texts import NO_STACK
from stepscope.readers.memory_snapshot.trace_columns import Trace, TraceColumns
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import categorical, nullable
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

_LIFE_ACTIONS = ("alloc", "free_requested", "free_completed", "free")


class DeviceMemory:
    """Understands one device's trace together with its segments."""

    def __init__(
        self, device: int, name: str, trace: Trace, columns: TraceColumns, state: FinalState, rule: Rounding
    ) -> None:
        self.device, self.name, self.trace, self.columns, self.state = device, name, trace, columns, state
        self.blocks = state.blocks.of(device)
        seen = pair(trace, columns.actions)
        self.lives, self.block = with_older(seen, self.blocks)
        known = _taken(self.blocks.size, self.block, NULL)
        self.size = sizes(self.lives, known, Regions(trace, columns.actions, state, device), rule)
        reserved = sum(segment.size for segment in state.segments if segment.device == device)
        self.curve = curve(trace, columns.actions, self.lives, self.size, reserved)

    def write(self, out: RankWriter) -> None:
        """Into ``allocations``, ``memory`` and ``memory_events``."""
        device = pl.lit(self.name).alias("device")
        out.add("allocations", self._allocations().with_columns(device))
        out.add("memory", self.curve.with_columns(device))
        out.add("memory_events", self._events().with_columns(device))

    def remark(self, notes: Notes, file: str) -> None:
        """What the trace lacks, and where it contradicts the segments."""
        lives, trace = self.lives, self.trace
        older = lives.born == NEVER
        stack = self._stacks()
        notes.add("memory_event_incomplete", file=file, count=lives.incomplete)
        notes.add("snapshot_stray_free", file=file, count=lives.stray)
        notes.add("snapshot_free_lost", file=file, count=int((lives.lost_at != NEVER).sum()))
        notes.add("snapshot_segment_mismatch", file=file, count=self._mismatching_segments())
        if not len(trace):
            return
        notes.add("snapshot_older_blocks", file=file, count=int(older.sum()))
        # A block knows its stack only if it was allocated while the history was on.
        notes.add("snapshot_history_truncated", file=file, count=int((older & (stack != NO_STACK)).sum()))
        notes.add("snapshot_block_unknown", file=file, count=int((lives.open & (self.block == NEVER)).sum()))
        negative = (self.curve.select("allocated", "reserved", "active").min_horizontal() < 0).sum()
        notes.add("snapshot_below_zero", file=file, count=int(negative))

    def births(self) -> tuple[int, int]:
        """Allocations that the trace has, and those of them without a call stack."""
        born = self.lives.born != NEVER
        return int(born.sum()), int((born & (self._stacks() == NO_STACK)).sum())

    def _mismatching_segments(self) -> int:
        held = np.zeros(len(self.state.segments), np.int64)
        np.add.at(held, self.blocks.segment, self.blocks.size)
        return sum(
            segment.device == self.device and segment.stated is not None and segment.stated != int(held[index])
            for index, segment in enumerate(self.state.segments)
        )

    def _stacks(self) -> Int64s:
        """Of the allocation, else of the block as the segments have it."""
        at_birth = _taken(self.trace.stack, self.lives.born, NO_STACK)
        return np.where(at_birth != NO_STACK, at_birth, _taken(self.blocks.stack, self.block, NO_STACK))

    def _allocations(self) -> pl.DataFrame:
        lives, trace = self.lives, self.trace
        stack = self._stacks()
        # What the allocation tells, or for older blocks the event that freed them.
        told_by = np.where(lives.born >= 0, lives.born, np.where(lives.asked >= 0, lives.asked, lives.ended))
        streams = np.array([segment.stream for segment in self.state.segments] or [0], np.int64)
        block_stream = _taken(streams[self.blocks.segment] if len(self.blocks) else streams[:0], self.block, NULL)
        stream = _taken(trace.stream, told_by, NULL)
        frame = pl.DataFrame(
            {
                "pool": self._pools(_taken(trace.pool, told_by, -1)),
                "stream": nullable(np.where(stream != NULL, stream, block_stream)),
                "address": pl.Series(lives.address.astype(np.uint64)),
                "bytes": pl.Series(self.size),
                "requested_bytes": pl.Series(lives.requested),
                "alloc_ns": nullable(_taken(trace.time, lives.born, NULL)),
                "free_ns": nullable(_taken(trace.time, lives.ended, NULL)),
                "alloc_seq": nullable(_taken(trace.seq, lives.born, NULL)),
                "free_seq": nullable(_taken(trace.seq, lives.ended, NULL)),
                "before_window": pl.Series(lives.born == NEVER),
                "lost_free": pl.Series(lives.lost_at != NEVER),
                "operator": categorical(stack, self.columns.stacks.operators),
                "stack": nullable(np.where(stack == NO_STACK, NULL, stack)),
                "category": categorical(_taken(trace.category, lives.born, -1), self.columns.categories.texts()),
            }
        )
        return frame.sort("alloc_seq", nulls_last=False, maintain_order=True)

    def _pools(self, stated: Int64s) -> pl.Series:
        """As the event states it, else that of the segment around the address."""
        labels = Codes()
        pools: list[Any] = list(self.columns.pools)
        around = self.state.pool_at(self.device, self.lives.address)
        codes = [labels[pools[code] if code >= 0 else pool] for code, pool in zip(stated.tolist(), around, strict=True)]
        texts = [COMPONENT if pool == DEFAULT_POOL else f"private pool {pool[0]}, {pool[1]}" for pool in labels]
        return categorical(np.array(codes, np.int64), texts)

    def _events(self) -> pl.DataFrame:
        trace, actions = self.trace, self.columns.actions
        is_life = np.array([action in _LIFE_ACTIONS for action in actions] or [True])
        other = np.flatnonzero(~is_life[trace.action])
        stack = trace.stack[other]
        return pl.DataFrame(
            {
                "time_ns": trace.time[other],
                "seq": trace.seq[other],
                "kind": categorical(trace.action[other], actions.texts()),
                "bytes": nullable(trace.size[other]),
                "free_bytes": nullable(trace.free[other]),
                "stack": nullable(np.where(stack == NO_STACK, NULL, stack)),
            }
        )


def _taken(values: Int64s, index: Int64s, otherwise: int) -> Int64s:
    """The value at each index, ``otherwise`` where there is none."""
    result = np.full(len(index), otherwise, np.int64)
    there = index != NEVER
    result[there] = values[index[there]]
    return result
