"""Parts of the memory answer: curves, lives, categories, fragmentation, failures and steps, by hand and by twins."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.stores import make_store
from stepscope.analysis.memory import memory
from stepscope.analysis.memory.curves import decimated, points_per_curve
from stepscope.analysis.memory.free_runs import free_runs
from stepscope.analysis.memory.out_of_memory import cause
from stepscope.report import memory as report

Row = dict[str, Any]
_MS = 1_000_000


def _block(size: int, alloc: int | None, free: int | None, **more: Any) -> Row:
    known = {"device": "cuda:0", "bytes": size, "alloc_ns": alloc, "free_ns": free}
    return known | {"before_window": alloc is None, "lost_free": False} | more


def _steps(count: int) -> list[Row]:
    return [
        {"step": n, "host_start_ns": n * _MS, "host_end_ns": (n + 1) * _MS, "marks_from": "profiler_step"}
        for n in range(count)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_fewer_points_keep_every_extreme_and_both_ends(seed: int) -> None:
    chance = np.random.default_rng(seed)
    time = np.sort(chance.integers(0, 10**12, 5000))
    lines = [np.cumsum(chance.integers(-99, 100, 5000)), chance.integers(0, 9, 5000)]
    most = int(chance.integers(50, 900))
    places = decimated(time, lines, most)
    assert len(places) <= most
    assert places[0] == 0
    assert places[-1] == len(time) - 1
    assert (np.diff(places) > 0).all()
    for line in lines:
        assert line[places].max() == line.max()
        assert line[places].min() == line.min()
    # In a window of some stretches the highest point shown is the highest there is.
    low, high = np.searchsorted(time, [3 * 10**11, 6 * 10**11])
    width = 2 * 10**12 // max(most // 6, 1)
    shown = lines[0][places[(time[places] >= time[low] - width) & (time[places] <= time[high - 1] + width)]]
    assert shown.max() >= lines[0][low:high].max()


def test_a_short_curve_is_shown_whole_and_many_curves_share_the_points() -> None:
    time = np.arange(10)
    assert decimated(time, [time], 10).tolist() == list(range(10))
    assert points_per_curve(1) > points_per_curve(1000) >= 64


@pytest.mark.parametrize("seed", range(30))
def test_free_runs_equal_a_map_of_bytes(seed: int) -> None:
    chance = random.Random(seed)
    starts = sorted(chance.sample(range(0, 400, 40), chance.randint(1, 6)))
    segments = [(start, chance.randint(5, 40)) for start in starts]
    cells = {start + offset: None for start, size in segments for offset in range(size)}
    live: list[tuple[int, int]] = []
    for start, size in segments:
        at = start
        while at < start + size:
            length = min(chance.randint(1, 9), start + size - at)
            if chance.random() < 0.5:
                live.append((at, length))
                for byte in range(at, at + length):
                    del cells[byte]
            at += length
    chance.shuffle(live)
    expected: list[int] = []
    for start, size in segments:
        free = [byte in cells for byte in range(start, start + size)]
        lengths = "".join("x" if is_free else " " for is_free in free).split()
        expected += [len(run) for run in lengths]
    frame = pl.DataFrame(segments, schema={"address": pl.UInt64, "bytes": pl.Int64}, orient="row")
    found = free_runs(
        frame,
        pl.Series([address for address, _ in live], dtype=pl.UInt64),
        np.array([size for _, size in live], np.int64),
    )
    assert found is not None
    assert sorted(found.sizes.tolist()) == sorted(expected)
    empty = [size for start, size in segments if not any(start <= address < start + size for address, _ in live)]
    assert found.releasable == sum(empty)


def test_fragmentation_computed_by_hand(tmp_path: Path) -> None:
    # One segment of 100 with blocks at 0..30 and 50..70, one of 60 that is empty: runs of 20, 30 and 60.
    blocks = [
        _block(30, 1, None, address=1000, requested_bytes=20, alloc_seq=0),
        _block(20, 3, None, address=1050, requested_bytes=20, alloc_seq=1),
    ]
    segments = [
        {"device": "cuda:0", "address": 1000, "bytes": 100, "active_bytes": 50},
        {"device": "cuda:0", "address": 5000, "bytes": 60, "active_bytes": 0},
    ]
    curve = [
        {"device": "cuda:0", "component": "pool", "time_ns": time, "allocated": used, "active": used, "reserved": held}
        for time, used, held in [(0, 0, 100), (1, 30, 100), (2, 30, 160), (3, 50, 160)]
    ]
    found = memory(make_store(tmp_path, allocations=blocks, segments=segments, memory=curve)).data.fragmentation
    assert found is not None
    assert (found.peak_reserved_bytes, found.peak_idle_bytes, found.peak_idle_share) == (160, 110, 110 / 160)
    assert (found.end_reserved_bytes, found.end_active_bytes, found.end_requested_bytes) == (160, 50, 40)
    assert (found.idle_share, found.rounding_share) == (110 / 160, 10 / 50)
    assert (found.largest_free_bytes, found.free_bytes, found.free_runs, found.releasable_bytes) == (60, 110, 3, 60)
    assert found.external_share == pytest.approx(1 - 60 / 110)
    assert found.spread_share == pytest.approx(1 - (20**2 + 30**2 + 60**2) ** 0.5 / 110)
    assert (found.growths, found.growths_with_room) == (1, 1)  # 20 were asked for while 70 were free


def test_a_sum_whose_active_line_lacks_an_allocator_is_used_as_far_as_it_is_allocated(tmp_path: Path) -> None:
    # PTA holds 100 and has 70 allocated, 80 active; GE holds 20 and has 15 allocated, and writes no active bytes.
    curve = [
        {"device": "npu:0", "component": component, "time_ns": time, **line}
        for time in (0, 1)
        for component, line in (
            ("PTA", {"allocated": 70 * time, "active": 80 * time, "reserved": 100}),
            ("GE", {"allocated": 15 * time, "reserved": 20}),
            ("PTA+GE", {"allocated": 85 * time, "active": 80 * time, "reserved": 120}),
        )
    ]
    data = memory(make_store(tmp_path, memory=curve)).data
    assert data.component == "PTA+GE"
    assert data.fragmentation is not None
    assert (data.fragmentation.peak_idle_bytes, data.fragmentation.peak_reserved_bytes) == (35, 120)


@pytest.mark.parametrize(
    ("asked", "device_free", "reserved", "free", "largest", "capacity", "expected"),
    [
        (200, 10, 50, 20, 20, 100, "too_large"),
        (15, 0, 80, 30, 10, 100, "fragmentation"),
        (15, 0, 80, 30, None, None, "fragmentation"),
        (40, 5, 60, 10, 10, 100, "others"),
        (40, 5, 95, 10, 10, 100, "shortage"),
        (40, 5, 95, 10, 10, None, "shortage"),
        (40, None, 95, None, None, None, "unknown"),
        (None, 5, 95, 10, 10, 100, "unknown"),
    ],
)
def test_the_cause_of_a_failed_request(
    asked: int | None,
    device_free: int | None,
    reserved: int | None,
    free: int | None,
    largest: int | None,
    capacity: int | None,
    expected: str,
) -> None:
    assert cause(asked, device_free, reserved, free, largest, capacity) == expected


def test_enough_free_in_pieces_is_fragmentation(tmp_path: Path) -> None:
    # Blocks of 10 at every second place of 100: 50 free, no run longer than 10; 15 were asked for.
    blocks = [_block(10, 1, None, address=1000 + 20 * n, alloc_seq=n) for n in range(5)]
    segments = [{"device": "cuda:0", "address": 1000, "bytes": 100, "active_bytes": 50}]
    curve = [{"device": "cuda:0", "component": "pool", "time_ns": 1, "allocated": 50, "active": 50, "reserved": 100}]
    events = [{"device": "cuda:0", "time_ns": 9, "seq": 9, "kind": "oom", "bytes": 15, "free_bytes": 0, "stack": 3}]
    store = make_store(
        tmp_path,
        allocations=blocks,
        segments=segments,
        memory=curve,
        memory_events=events,
        stacks=[{"stack": 3, "frames": "train.py(3): step"}],
    )
    (failure,) = memory(store).data.out_of_memory
    assert (failure.cause, failure.pool_free_bytes, failure.largest_free_bytes) == ("fragmentation", 50, 10)
    assert failure.stack == "train.py(3): step"


def test_lives_are_told_apart(tmp_path: Path) -> None:
    middle = _MS // 2
    blocks = [
        _block(1, middle, middle + 1),  # temporary
        _block(2, middle + 2, middle + 90),  # within the step, three others are born meanwhile
        *(_block(3, middle + 10 + n, middle + 50 + n) for n in range(3)),
        _block(4, middle + 100, _MS + 5),
        *(_block(3, middle + 110 + n, middle + 150 + n) for n in range(3)),
        _block(5, middle + 200, 2 * _MS + 5),
        *(_block(3, middle + 210 + n, middle + 250 + n) for n in range(3)),
        _block(6, middle + 300, None),
        _block(7, None, None),
        _block(8, None, middle),
    ]
    found = {
        row.lifetime: row for row in memory(make_store(tmp_path, allocations=blocks, steps=_steps(4))).data.lifetimes
    }
    sizes = {name: row.bytes for name, row in found.items() if name not in ("temporary", "within_step")}
    assert sizes == {
        "crosses_one_step_end": 4,
        "crosses_more_step_ends": 5,
        "to_end": 6,
        "whole_window": 7,
        "before_window": 8,
    }
    assert found["temporary"].bytes + found["within_step"].bytes == 1 + 2 + 9 * 3
    assert found["crosses_one_step_end"].byte_seconds == pytest.approx(4 * (_MS + 5 - middle - 100) / 1e9)


def test_lengths_of_life_fall_into_powers_of_two(tmp_path: Path) -> None:
    lives = [1, 2, 3, 4, 7, 8, 1023, 1024, 2**52 - 1, 2**52]
    blocks = [_block(1, 0, life) for life in lives] + [_block(1, 0, None), _block(1, None, 5)]
    bins = memory(make_store(tmp_path, allocations=blocks)).data.lifetime_bins
    expected: dict[int, int] = {}
    for life in lives:
        least = 1 << (life.bit_length() - 1)
        expected[least] = expected.get(least, 0) + 1
    assert {row.least_ns: row.blocks for row in bins} == expected


def _training(steps: int) -> dict[str, Any]:
    """A step of 1 ms: forward to 400 us, backward to 700, the optimizer to 900."""
    slices: list[Row] = []
    blocks: list[Row] = [_block(1000, None, None, operator=None)]
    for n in range(steps):
        t = n * _MS
        names = [("aten::mm", "operator", 100, 300, "forward"), ("bwd", "operator", 400, 700, "backward")]
        names += [
            ("Optimizer.step#Adam.step", "annotation", 700, 900, "optimizer"),
            ("load", "annotation", 0, 50, "data"),
        ]
        slices += [
            {"name": name, "kind": kind, "start_ns": t + start * 1000, "dur_ns": (end - start) * 1000, "phase": phase}
            | {"step": n}
            for name, kind, start, end, phase in names
        ]
        last = n == steps - 1
        blocks += [
            _block(11, t + 20_000, t + 950_000, operator="aten::stack"),
            _block(22, t + 150_000, t + 500_000, operator="aten::mm"),
            _block(33, t + 450_000, None if last else t + _MS + 10_000, operator="aten::mm"),
            _block(44, t + 500_000, t + 600_000, operator="aten::mm"),
            _block(55, t + 800_000, t + 850_000, operator="aten::sqrt"),
            _block(66, t + 160_000, t + 170_000, operator="aten::mm", pool="PTA_WORKSPACE"),
        ]
    blocks.append(_block(2000, 750_000, None, operator="aten::zeros_like"))
    blocks.append(_block(4000, 800_000, None, operator="aten::x", category="PTA@fsdp2@gradient"))
    return {"slices": slices, "allocations": blocks, "steps": _steps(steps)}


def test_categories_follow_phase_and_life(tmp_path: Path) -> None:
    tables = _training(3)
    for row in tables["allocations"]:
        row["pool"] = row.get("pool") or "PTA"
    store = make_store(tmp_path, **tables)

    def at(moment: int) -> dict[str, int]:
        parts = memory(store, at_ns=moment).data.categories
        return {part.category: sum(other.bytes for other in parts if other.category == part.category) for part in parts}

    kept = {"weights": 1000, "optimizer": 2000, "gradients": 4000}
    assert at(200_000) == {"weights": 1000, "inputs": 11, "activations": 22}
    assert at(_MS + 550_000) == kept | {"inputs": 11, "gradients": 4000 + 33, "other": 44}
    assert at(_MS + 820_000) == kept | {"inputs": 11, "gradients": 4000 + 33, "other": 55}
    confidence = {part.category: part.confidence for part in memory(store, at_ns=_MS - 1).data.categories}
    assert confidence["weights"] == "guess"
    assert confidence["optimizer"] == "likely"


def test_without_an_optimizer_step_older_memory_is_only_older(tmp_path: Path) -> None:
    store = make_store(tmp_path, allocations=[_block(9, None, None), _block(1, 5, 6)], steps=_steps(2))
    assert {part.category for part in memory(store).data.categories} == {"before_window", "other"}


@pytest.mark.parametrize("seed", range(10))
def test_the_balance_of_steps_equals_a_count(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    moments = chance.sample(range(1, 6 * _MS), 400)
    pairs = [sorted((moments.pop(), moments.pop())) for _ in range(150)]
    blocks = [_block(chance.randint(1, 50), born, died if chance.random() < 0.9 else None) for born, died in pairs]
    rows = memory(make_store(tmp_path, allocations=blocks, steps=_steps(6))).data.steps
    for n, row in enumerate(rows):
        start, end = n * _MS, (n + 1) * _MS
        born = [block for block in blocks if start <= block["alloc_ns"] < end]
        died = [block for block in blocks if block["free_ns"] is not None and start <= block["free_ns"] < end]
        stays = [block for block in born if block["free_ns"] is None or block["free_ns"] >= end]
        assert (row.allocations, row.allocated_bytes) == (len(born), sum(block["bytes"] for block in born))
        assert row.freed_bytes == sum(block["bytes"] for block in died)
        assert row.net_bytes == row.allocated_bytes - row.freed_bytes
        assert (row.survivors, row.survivor_bytes) == (len(stays), sum(block["bytes"] for block in stays))
        times = [start, *(block["alloc_ns"] for block in born), *(block["free_ns"] for block in died)]
        # A line has its first point with the first event; before it, the value after that event is all there is.
        first = min(block["alloc_ns"] for block in blocks)
        levels = [
            sum(b["bytes"] for b in blocks if b["alloc_ns"] <= t and (b["free_ns"] is None or b["free_ns"] > t))
            for t in times
            if t >= first
        ]
        assert row.peak_bytes == max(levels)


def test_two_steps_side_by_side(tmp_path: Path) -> None:
    frames = ["train.py(1): a", "train.py(2): b", "train.py(3): c", "train.py(4): d", "train.py(5): e"]
    a, b, c, d, e = range(5)

    def at(step: int, place: int, size: int, stack: int, *, kept: bool = False) -> Row:
        born = step * _MS + place * 100
        return _block(size, born, None if kept else born + 50, stack=stack, operator="aten::empty")

    blocks = [at(step, 0, 100, a) for step in range(4)] + [at(step, 1, 100, a) for step in range(4)]
    blocks += [at(2, 2, 10, b), at(3, 2, 30, b, kept=True)]  # grown
    blocks += [at(2, 3, 7, c), at(3, 3, 7, d)]  # moved
    blocks += [at(3, 4, 5, e)]  # new
    stacks = [{"stack": number, "frames": frame} for number, frame in enumerate(frames)]
    store = make_store(tmp_path, allocations=blocks, stacks=stacks, steps=_steps(4))
    found = memory(store).data.step_difference
    assert found is not None
    assert (found.base_step, found.step, found.same_sites) == (2, 3, 1)
    verdicts = {row.site.split(" [")[0]: (row.verdict, row.delta_bytes, row.net_bytes) for row in found.sites}
    assert verdicts == {
        "train.py(2): b": ("grown", 20, 30),
        "train.py(3): c": ("moved", -7, 0),
        "train.py(4): d": ("moved", 7, 0),
        "train.py(5): e": ("new", 5, 0),
    }
    assert found.bytes - found.base_bytes == sum(row.delta_bytes for row in found.sites)
    turned = memory(store, steps=[3, 2]).data.step_difference
    assert turned is not None
    assert {row.verdict for row in turned.sites} == {"shrunk", "moved", "gone"}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_terminal_shows_peak_owners_and_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lang: str
) -> None:
    tables = _training(4)
    curve = [{"device": "cuda:0", "component": "pool", "time_ns": _MS, "allocated": 9 << 20, "reserved": 20 << 20}]
    events = [{"device": "cuda:0", "time_ns": 9, "kind": "oom", "bytes": 1 << 30, "free_bytes": 0}]
    ranks = [{"rank": 0, "memory_capacity": 1 << 26}]
    answer = memory(make_store(tmp_path, memory=curve, memory_events=events, ranks=ranks, **tables))
    report.show(answer, lang)
    shown = capsys.readouterr().out
    assert "9 MiB" in shown
    assert "1 GiB" in shown
    assert "aten::zeros_like" in shown
    assert ("Peak on rank 0" in shown) == (lang == "en")


def test_blocks_without_a_pool_are_those_of_the_frameworks_allocator(tmp_path: Path) -> None:
    # Our own recording samples the process beside the allocator's events, which name no pool.
    store = make_store(
        tmp_path,
        memory=[
            {"device": "cuda:0", "component": "caching allocator", "time_ns": 10, "allocated": 100},
            {"device": "cuda:0", "component": "process", "time_ns": 5, "allocated": 50},
        ],
        allocations=[_block(100, 10, None, alloc_seq=1, address=1)],
    )
    found = memory(store).data
    assert (found.component, found.peak_bytes) == ("caching allocator", 100)
    assert [(owner.owner == "unrecorded", owner.bytes) for owner in found.owners] == [(False, 100)]


def test_less_reserved_than_allocated_is_no_negative_amount_of_unused_memory(tmp_path: Path) -> None:
    rows = [
        {"device": "cpu", "component": "caching allocator", "time_ns": time, "allocated": used, "reserved": held}
        for time, used, held in ((0, 10, 64), (5, 3_000_000, 756_000))
    ]
    answer = memory(make_store(tmp_path, memory=rows)).data
    assert (answer.peak_bytes, answer.fragmentation) == (3_000_000, None)
