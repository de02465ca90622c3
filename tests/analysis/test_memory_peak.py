"""The peak and its owners: against a replay block by block, with older blocks, lost frees, equal times and gaps."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from analysis.stores import make_store
from stepscope.analysis.memory import Memory, memory
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore

Row = dict[str, Any]


def _block(size: int, alloc: int | None, free: int | None, seq: tuple[int | None, int | None], **more: Any) -> Row:
    return {
        "device": "cuda:0",
        "bytes": size,
        "alloc_ns": alloc,
        "free_ns": free,
        "alloc_seq": seq[0],
        "free_seq": seq[1],
        "before_window": alloc is None,
        "lost_free": False,
        **more,
    }


def _step(number: int, start: int, end: int) -> Row:
    return {"step": number, "host_start_ns": start, "host_end_ns": end, "marks_from": "profiler_step"}


def _random_blocks(chance: random.Random) -> list[Row]:
    """Blocks of a small program; several events share a moment, their numbers tell the order."""
    times = sorted(chance.choices(range(40), k=120))
    alive: list[Row] = [
        _block(chance.randint(1, 99), None, None, (None, None), operator=f"old{chance.randint(0, 2)}")
        for _ in range(chance.randint(0, 4))
    ]
    done: list[Row] = []
    for number, time in enumerate(times):
        if alive and chance.random() < 0.45:
            block = alive.pop(chance.randrange(len(alive)))
            done.append(block | {"free_ns": time, "free_seq": number})
        else:
            operator = f"op{chance.randint(0, 3)}"
            alive.append(_block(chance.randint(1, 99), time, None, (number, None), operator=operator))
    blocks = done + alive
    chance.shuffle(blocks)
    return blocks


def _replay(blocks: list[Row]) -> list[tuple[int | None, int | None, frozenset[int]]]:
    """Time, number and blocks alive after each event, the state before the first one at the front."""
    events = [
        (row["alloc_ns"], row["alloc_seq"], place) for place, row in enumerate(blocks) if not row["before_window"]
    ]
    events += [
        (row["free_ns"], row["free_seq"], place) for place, row in enumerate(blocks) if row["free_ns"] is not None
    ]
    alive = {place for place, row in enumerate(blocks) if row["before_window"]}
    states: list[tuple[int | None, int | None, frozenset[int]]] = [(None, None, frozenset(alive))]
    for time, number, place in sorted(events):
        alive ^= {place}
        states.append((time, number, frozenset(alive)))
    return states


def _by_operator(blocks: list[Row], places: frozenset[int]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for place in places:
        sums[blocks[place]["operator"]] = sums.get(blocks[place]["operator"], 0) + blocks[place]["bytes"]
    return sums


def _owners(found: Memory) -> dict[str, int]:
    sums: dict[str, int] = {}
    for owner in found.owners:
        key = owner.operator or owner.kind
        sums[key] = sums.get(key, 0) + owner.bytes
    return sums


@pytest.mark.parametrize("seed", range(25))
def test_the_peak_and_its_owners_equal_a_replay(tmp_path: Path, seed: int) -> None:
    blocks = _random_blocks(random.Random(seed))
    states = _replay(blocks)
    sizes = [sum(blocks[place]["bytes"] for place in alive) for _, _, alive in states]
    highest = max(sizes)
    first = sizes.index(highest)
    found = memory(make_store(tmp_path, allocations=blocks)).data
    assert found.peak_bytes == highest
    if states[first][0] is not None:
        assert found.peak_ns == states[first][0]
    assert _owners(found) == _by_operator(blocks, states[first][2])
    assert sum(part.bytes for part in found.categories) == highest
    assert sum(owner.blocks or 0 for owner in found.owners) == len(states[first][2])


@pytest.mark.parametrize("seed", range(10))
def test_owners_at_any_moment_equal_a_replay(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    blocks = _random_blocks(chance)
    store = make_store(tmp_path, allocations=blocks)
    moment = chance.randint(0, 40)
    alive = [state for time, _, state in _replay(blocks) if time is None or time <= moment][-1]
    found = memory(store, at_ns=moment).data
    assert _owners(found) == _by_operator(blocks, alive)
    assert found.at_bytes == sum(owner.bytes for owner in found.owners)
    assert (found.at_ns, found.peak_bytes) == (moment, memory(store).data.peak_bytes)


@pytest.mark.parametrize("seed", range(10))
def test_memory_that_only_the_counter_knows_is_named(tmp_path: Path, seed: int) -> None:
    blocks = _random_blocks(random.Random(seed))
    states = _replay(blocks)
    sizes = [sum(blocks[place]["bytes"] for place in alive) for _, _, alive in states]
    curve = [
        {"device": "cuda:0", "component": "caching allocator", "time_ns": time or 0, "allocated": size + 1000}
        for (time, _, _), size in zip(states[1:], sizes[1:], strict=True)
    ]
    found = memory(make_store(tmp_path, allocations=blocks, memory=curve)).data
    assert found.peak_bytes == max(sizes[1:]) + 1000
    assert _owners(found)["before_window_unseen"] == 1000
    assert sum(owner.bytes for owner in found.owners) == found.peak_bytes


def test_what_came_later_and_has_no_block_is_unrecorded(tmp_path: Path) -> None:
    curve = [("cuda:0", 0, 100), ("cuda:0", 10_000, 150), ("cuda:0", 20_000, 400), ("cuda:0", 30_000, 150)]
    rows = [
        {"device": device, "component": "caching allocator", "time_ns": time, "allocated": size}
        for device, time, size in curve
    ]
    blocks = [_block(50, 10_000, None, (1, None), operator="kept")]
    answer = memory(make_store(tmp_path, allocations=blocks, memory=rows))
    assert _owners(answer.data) == {"kept": 50, "before_window_unseen": 100, "unrecorded": 250}
    assert "memory_curve_has_more" in [note.code for note in answer.notes]


def test_blocks_beyond_the_counter_are_shown_as_such(tmp_path: Path) -> None:
    rows = [{"device": "cuda:0", "component": "pool", "time_ns": 0, "allocated": 70}]
    answer = memory(make_store(tmp_path, allocations=[_block(100, 0, None, (1, None), operator="a")], memory=rows))
    assert _owners(answer.data) == {"a": 100, "overcounted": -30}
    assert "memory_blocks_exceed_curve" in [note.code for note in answer.notes]


def test_a_curve_without_blocks_still_has_a_peak(tmp_path: Path) -> None:
    rows = [
        {
            "device": "cpu",
            "component": "MindSpore",
            "time_ns": time,
            "allocated": size,
            "reserved": 1000,
            "active": size,
        }
        for time, size in enumerate([10, 700, 30, 700])
    ]
    answer = memory(make_store(tmp_path, memory=rows))
    assert (answer.data.peak_bytes, answer.data.peak_ns) == (700, 1)
    assert _owners(answer.data) == {"unrecorded": 700}
    assert {"memory_without_blocks", "memory_without_steps"} <= {note.code for note in answer.notes}
    assert all(note.sentence("zh") for note in answer.notes)


def test_the_line_is_taken_that_the_blocks_explain(tmp_path: Path) -> None:
    # The block is given up at 5 and free for others at 9: what is active includes it until then.
    rows = [
        {"device": "cuda:0", "component": "pool", "time_ns": time, "allocated": allocated, "active": active}
        for time, allocated, active in [(0, 10, 10), (5, 0, 10), (7, 5, 15), (9, 5, 5)]
    ]
    blocks = [_block(10, 0, 9, (0, 3), operator="a"), _block(5, 7, None, (2, None), operator="b")]
    found = memory(make_store(tmp_path, allocations=blocks, memory=rows)).data
    assert (found.measure, found.peak_bytes) == ("active", 15)
    assert _owners(found) == {"a": 10, "b": 5}


def test_a_lost_free_ends_where_the_address_is_given_out_again(tmp_path: Path) -> None:
    blocks = [
        _block(10, 0, None, (0, None), operator="lost", address=7, lost_free=True),
        _block(20, 5, None, (1, None), operator="next", address=7),
    ]
    answer = memory(make_store(tmp_path, allocations=blocks))
    assert answer.data.peak_bytes == 20
    assert _owners(answer.data) == {"next": 20}
    assert [note.count for note in answer.notes if note.code == "memory_frees_lost"] == [1]


def test_a_block_freed_before_its_birth_is_left_out(tmp_path: Path) -> None:
    blocks = [
        _block(10, 9, 3, (0, 1), operator="backwards"),
        _block(7, 4, 4, (3, 2), operator="backwards"),
        _block(5, 0, 20, (4, 5), operator="good"),
    ]
    answer = memory(make_store(tmp_path, allocations=blocks))
    assert _owners(answer.data) == {"good": 5}
    assert [note.count for note in answer.notes if note.code == "memory_block_backwards"] == [2]


def test_without_numbers_a_free_comes_before_an_allocation_of_the_same_moment(tmp_path: Path) -> None:
    blocks = [
        _block(10, 0, 5, (0, None), operator="a"),
        _block(10, 5, 9, (1, None), operator="b"),
        _block(3, 5, 5, (2, None), operator="at once"),
    ]
    assert memory(make_store(tmp_path, allocations=blocks)).data.peak_bytes == 13


def test_a_sum_of_two_pools_owns_the_blocks_of_both(tmp_path: Path) -> None:
    rows = [
        {"device": "npu:0", "component": name, "time_ns": 0, "allocated": size, "reserved": 50}
        for name, size in (("PTA", 10), ("GE", 5), ("PTA+GE", 15))
    ] + [{"device": "npu:0", "component": "APP", "time_ns": 0, "reserved": 900}]
    blocks = [
        _block(10, 0, None, (0, None), operator="a", pool="PTA", device="npu:0"),
        _block(5, 0, None, (1, None), operator="b", pool="GE", device="npu:0"),
    ]
    found = memory(make_store(tmp_path, allocations=blocks, memory=rows)).data
    assert (found.component, found.peak_bytes) == ("PTA+GE", 15)
    assert _owners(found) == {"a": 10, "b": 5}
    assert {(peak.component, peak.peak_bytes) for peak in found.peaks} == {
        ("PTA+GE", 15),
        ("PTA", 10),
        ("GE", 5),
        ("APP", 900),
    }


def _two_steps(directory: Path) -> RunStore:
    blocks = [
        _block(100, 10, 90, (0, 1), operator="first"),
        _block(40, 110, 190, (2, 3), operator="second"),
        _block(7, 5, None, (4, None), operator="kept"),
    ]
    return make_store(directory, allocations=blocks, steps=[_step(1, 0, 95), _step(2, 100, 200)])


def test_the_peak_of_a_step(tmp_path: Path) -> None:
    store = _two_steps(tmp_path)
    everywhere, second = memory(store).data, memory(store, steps=[2]).data
    assert (everywhere.peak_bytes, everywhere.peak_step) == (107, 1)
    assert (second.peak_bytes, second.peak_step, _owners(second)) == (47, 2, {"kept": 7, "second": 40})
    assert [row.step for row in second.steps] == [2]
    with pytest.raises(NoAnswerError):
        memory(store, steps=[9])


def test_a_device_can_be_chosen_and_the_accelerator_comes_first(tmp_path: Path) -> None:
    blocks = [
        _block(1000, 0, None, (0, None), operator="host", device="cpu"),
        _block(10, 0, None, (1, None), operator="card"),
    ]
    store = make_store(tmp_path, allocations=blocks)
    assert memory(store).data.device == "cuda:0"
    assert memory(store, device="cpu").data.peak_bytes == 1000
    with pytest.raises(NoAnswerError, match="npu:3"):
        memory(store, device="npu:3")


def test_no_memory_at_all_says_which_switch_records_it(tmp_path: Path) -> None:
    store = make_store(tmp_path, steps=[_step(1, 0, 10)])
    with pytest.raises(NoAnswerError, match="profile_memory=True") as raised:
        memory(store)
    assert "profile_memory=True" in raised.value.message("zh")


def test_a_rank_without_memory_is_noted_and_the_rest_answered(tmp_path: Path) -> None:
    blocks = pl.DataFrame([_block(10, 0, None, (0, None), operator="a")]).with_columns(rank=pl.lit(1))
    store = make_store(tmp_path, allocations=blocks, ranks=[{"rank": 0}, {"rank": 1, "memory_capacity": 64}])
    answer = memory(store)
    assert (answer.data.rank, answer.data.peaks[0].capacity_bytes, answer.data.peaks[0].headroom_bytes) == (1, 64, 54)
    assert [(note.code, note.rank) for note in answer.notes if note.code == "memory_not_recorded"] == [
        ("memory_not_recorded", 0)
    ]
    msgspec.convert(answer.plain(), Memory)
