"""Makes memory snapshots by hand, and with a small caching allocator of its own that knows the truth."""

from __future__ import annotations

import bisect
import pickle
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MB = 1 << 20


def frame(name: str, line: int, file: str = "/home/u/train.py") -> dict[str, Any]:
    return {"name": name, "filename": file, "line": line}


def event(action: str, addr: int, size: int, time_us: int | None = None, **more: Any) -> dict[str, Any]:
    made = {"action": action, "addr": addr, "size": size, "stream": 0, "frames": []}
    if time_us is not None:
        made["time_us"] = time_us
    return made | more


def freed(addr: int, size: int, time_us: int | None = None) -> list[dict[str, Any]]:
    return [event("free_requested", addr, size, time_us), event("free_completed", addr, size, time_us)]


def block(address: int, size: int, state: str = "active_allocated", requested: int | None = None) -> dict[str, Any]:
    asked = size if requested is None else requested
    return {"address": address, "size": size, "requested_size": asked, "state": state, "frames": []}


def segment(address: int, size: int, blocks: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    active = sum(item["size"] for item in blocks if item["state"].startswith("active"))
    return {
        "device": 0,
        "address": address,
        "total_size": size,
        "allocated_size": active,
        "active_size": active,
        "stream": 0,
        "segment_type": "small",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": blocks,
    } | more


def annotation(stage: str, name: str, time_us: int, device: int = 0) -> dict[str, Any]:
    return {"stage": stage, "name": name, "device": device, "time_us": time_us}


def write(folder: Path, content: Any, name: str = "snapshot.pickle", protocol: int = 4) -> Path:
    path = folder / name
    path.write_bytes(pickle.dumps(content, protocol))
    return path


@dataclass
class _Segment:
    start: int
    end: int
    large: bool
    #: Start, size, and what was asked for; None while free.
    blocks: list[tuple[int, int, int | None]] = field(default_factory=list)


class Allocator:
    """Best fit, rounding to 512 bytes, segments of 2, 20 or more MB, a rest above 1 MB is split off.

    Keeps its own totals, so a reader's curve can be held against them event by event.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.segments: list[_Segment] = []
        self.trace: list[dict[str, Any]] = []
        self.truth: list[tuple[int, int, int]] = []  # allocated, reserved, active after each event
        self.live: list[int] = []
        self.pending: list[int] = []
        self.recording = False
        self.older: set[int] = set()
        self.totals = [0, 0, 0]
        self.clock = 1_700_000_000_000_000
        self.next_segment = 0x7F00_0000_0000

    def run(self, steps: int) -> None:
        for _ in range(steps):
            choice = self.random.random()
            if choice < 0.55 or not self.live:
                small = self.random.random() < 0.4
                self.allocate(self.random.randint(1, MB) if small else self.random.randint(MB, 25 * MB))
            elif choice < 0.85:
                self.free(self.live.pop(self.random.randrange(len(self.live))), pending=False)
            elif choice < 0.93:
                self.free(self.live.pop(self.random.randrange(len(self.live))), pending=True)
            elif self.pending:
                self.complete(self.pending.pop(self.random.randrange(len(self.pending))))
            else:
                self.release()

    def allocate(self, requested: int) -> None:
        size = max(512, -(-requested // 512) * 512)
        large = size > MB
        found = min(
            (
                (block[1], block[0], segment)
                for segment in self.segments
                if segment.large == large
                for block in segment.blocks
                if block[2] is None and block[1] >= size
            ),
            key=lambda item: item[:2],
            default=None,
        )
        if found is None:
            whole = 2 * MB if not large else 20 * MB if size < 10 * MB else -(-size // (2 * MB)) * 2 * MB
            self.next_segment += 64 * MB * self.random.randint(1, 3)
            made = _Segment(self.next_segment, self.next_segment + whole, large, [(self.next_segment, whole, None)])
            self.segments.append(made)
            self._record("segment_alloc", made.start, whole, reserved=whole)
            found = whole, made.start, made
        whole, address, around = found
        place = bisect.bisect_left(around.blocks, (address,))
        rest = whole - size
        split = rest > MB if large else rest >= 512
        taken = size if split else whole
        around.blocks[place : place + 1] = [
            (address, taken, requested),
            *([(address + size, rest, None)] if split else []),
        ]
        self.live.append(address)
        if not self.recording:
            self.older.add(address)
        self._record("alloc", address, requested, allocated=taken, active=taken)

    def free(self, address: int, pending: bool) -> None:
        _, _, (_, size, requested) = self._find(address)
        self._record("free_requested", address, requested or 0, allocated=-size)
        if pending:
            self.pending.append(address)
        else:
            self.complete(address)

    def complete(self, address: int) -> None:
        around, place, (_, size, requested) = self._find(address)
        around.blocks[place] = (address, size, None)
        merged: list[tuple[int, int, int | None]] = []
        for item in around.blocks:
            if merged and merged[-1][2] is None and item[2] is None:
                merged[-1] = (merged[-1][0], merged[-1][1] + item[1], None)
            else:
                merged.append(item)
        around.blocks = merged
        self.older.discard(address)
        self._record("free_completed", address, requested or 0, active=-size)

    def release(self) -> None:
        for empty in [
            segment for segment in self.segments if len(segment.blocks) == 1 and segment.blocks[0][2] is None
        ]:
            self.segments.remove(empty)
            self._record("segment_free", empty.start, empty.end - empty.start, reserved=empty.start - empty.end)

    def snapshot(self) -> dict[str, Any]:
        segments = []
        for item in sorted(self.segments, key=lambda each: each.start):
            blocks = [
                block(start, size, self._state(start, requested), requested or 0)
                for start, size, requested in item.blocks
            ]
            segments.append(
                segment(item.start, item.end - item.start, blocks, segment_type="large" if item.large else "small")
            )
        return {"segments": segments, "device_traces": [self.trace], "allocator_settings": {"max_split_size": -1}}

    def _state(self, start: int, requested: int | None) -> str:
        if requested is None:
            return "inactive"
        return "active_pending_free" if start in self.pending else "active_allocated"

    def _find(self, address: int) -> tuple[_Segment, int, tuple[int, int, int | None]]:
        around = next(segment for segment in self.segments if segment.start <= address < segment.end)
        place = bisect.bisect_left(around.blocks, (address,))
        return around, place, around.blocks[place]

    def _record(
        self, action: str, addr: int, size: int, allocated: int = 0, reserved: int = 0, active: int = 0
    ) -> None:
        self.totals = [self.totals[0] + allocated, self.totals[1] + reserved, self.totals[2] + active]
        if self.recording:
            self.clock += self.random.randint(0, 2)
            self.trace.append(event(action, addr, size, self.clock))
            self.truth.append((self.totals[0], self.totals[1], self.totals[2]))
