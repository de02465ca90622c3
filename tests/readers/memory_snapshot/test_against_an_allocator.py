"""Random histories, against an allocator that knows the truth."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from readers.memory_snapshot.opened_snapshots import Read
from readers.memory_snapshot_builder import Allocator, frame


@pytest.mark.parametrize("seed", range(12))
def test_the_curve_equals_what_the_allocator_counted_at_every_event(seed: int, read: Callable[..., Read]) -> None:
    allocator = Allocator(seed)
    allocator.run(60)  # before the recording
    before = tuple(allocator.totals)
    allocator.recording = True
    allocator.run(300)
    found = read(allocator.snapshot())
    curve = [(row["allocated"], row["reserved"], row["active"]) for row in found.rows("memory")]
    assert curve[0] == before
    assert curve[1:] == allocator.truth


@pytest.mark.parametrize("seed", range(4))
def test_blocks_alive_at_any_moment_add_up_to_what_is_active(seed: int, read: Callable[..., Read]) -> None:
    allocator = Allocator(100 + seed)
    allocator.run(40)
    allocator.recording = True
    allocator.run(200)
    found = read(allocator.snapshot())
    blocks = found.rows("allocations")
    for seq, (_, _, active) in enumerate(allocator.truth):
        alive = (
            row
            for row in blocks
            if (row["alloc_seq"] is None or row["alloc_seq"] <= seq)
            and (row["free_seq"] is None or row["free_seq"] > seq)
        )
        assert sum(row["bytes"] for row in alive) == active


def test_blocks_alive_together_never_overlap(read: Callable[..., Read]) -> None:
    allocator = Allocator(7)
    allocator.recording = True
    allocator.run(400)
    alive = sorted(
        (row["address"], row["bytes"])
        for row in read(allocator.snapshot()).rows("allocations")
        if row["free_seq"] is None
    )
    assert all(left + size <= right for (left, size), (right, _) in itertools.pairwise(alive))


def test_a_history_without_its_beginning_still_ends_right(read: Callable[..., Read]) -> None:
    allocator = Allocator(3)
    allocator.recording = True
    allocator.run(300)
    whole = allocator.snapshot()
    for part in whole["segments"]:
        for item in part["blocks"]:
            item["frames"] = [frame("loop", 3)]
    whole["device_traces"] = [allocator.trace[-120:]]
    found = read(whole)
    curve = [(row["allocated"], row["reserved"], row["active"]) for row in found.rows("memory")]
    assert curve[-1] == allocator.truth[-1]
    assert [row[1:] for row in curve[1:]] == [row[1:] for row in allocator.truth[-120:]]
    assert found.notes["snapshot_history_truncated"] > 0
