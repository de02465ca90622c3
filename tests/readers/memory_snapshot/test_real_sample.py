"""A real snapshot, against a plain replay of it."""

from __future__ import annotations

import pickle
import pickletools
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from readers.memory_snapshot.opened_snapshots import Read
from stepscope.readers.files.unpickle import load
from support.samples import SHARED_DATA

SAMPLE = SHARED_DATA / "memory" / "cuda_snapshot_expandable.pickle"


needs_sample = pytest.mark.skipif(not SAMPLE.exists(), reason="needs the shared captures")


def plainly() -> dict[str, Any]:
    """The sample through Python's own unpickler, which is safe because no instruction in it can call anything."""
    raw = SAMPLE.read_bytes()
    forbidden = (
        "GLOBAL",
        "STACK_GLOBAL",
        "REDUCE",
        "BUILD",
        "INST",
        "OBJ",
        "NEWOBJ",
        "NEWOBJ_EX",
        "PERSID",
        "BINPERSID",
    )
    used = {opcode.name for opcode, _, _ in pickletools.genops(raw)}
    assert not used & {*forbidden, "EXT1", "EXT2", "EXT4"}
    found = pickle.loads(raw)
    assert isinstance(found, dict)
    return found


@needs_sample
def test_the_restricted_unpickler_agrees_with_pickle_on_the_sample() -> None:
    raw = SAMPLE.read_bytes()
    assert load(lambda: [raw], "sample")[0] == plainly()


@needs_sample
def test_every_event_of_the_sample_ends_in_a_table(read: Callable[..., Read]) -> None:
    found = read(SAMPLE)
    allocations = found.rows("allocations")
    born = sum(row["alloc_seq"] is not None for row in allocations)
    ended = sum(row["free_seq"] is not None for row in allocations)
    others = Counter(row["kind"] for row in found.rows("memory_events"))
    assert (born, ended, sum(row["before_window"] for row in allocations)) == (183, 153, 6)
    assert others == {"segment_map": 5, "oom": 1}
    # A free is two events: asked for, and done.
    assert born + 2 * ended + sum(others.values()) == len(plainly()["device_traces"][0]) == 495
    assert not {"snapshot_stray_free", "snapshot_free_lost", "snapshot_below_zero"} & found.notes.keys()


@needs_sample
def test_the_known_answer_of_the_sample(read: Callable[..., Read]) -> None:
    found = read(SAMPLE)
    steps = [(row["host_start_ns"], row["host_end_ns"], row["step"]) for row in found.rows("steps")]
    assert [step for _, _, step in steps] == list(range(1, 9))

    def step_of(moment: int) -> int:
        return next(int(step) for start, end, step in steps if start <= moment < end)

    survivors = defaultdict(list)
    for row in found.rows("allocations"):
        if row["free_ns"] is None and not row["before_window"]:
            survivors[row["requested_bytes"]].append(step_of(row["alloc_ns"]))
    assert sum(map(len, survivors.values())) == 30
    assert survivors[4_000_004] == [1, 2, 3, 4, 5, 6, 7, 8]  # leaks
    assert survivors[3_000_004] == [1, 2, 3, 4]  # a cache of four
    assert survivors[2_000_004] == [6, 7, 8]  # a ring of three
    assert survivors[33_554_432] == [1, 1]  # workspace
    assert survivors[8_388_608] == [1, 1, 8]  # two moments of the optimizer, one gradient
    assert survivors[8_192] == [1, 1, 8]


@needs_sample
def test_the_sample_adds_up_to_the_byte(read: Callable[..., Read]) -> None:
    found = read(SAMPLE)
    last = found.rows("memory")[-1]
    assert (last["allocated"], last["reserved"], last["active"]) == (154_180_096, 169_869_312, 154_180_096)
    assert sum(row["bytes"] for row in found.rows("segments")) == 169_869_312
    alive = [row for row in found.rows("allocations") if row["free_seq"] is None]
    assert sum(row["bytes"] for row in alive) == 154_180_096
    assert sum(row["requested_bytes"] for row in alive) == 154_173_788


@needs_sample
def test_bytes_per_site_and_peak_of_the_sample_match_a_forward_replay(read: Callable[..., Read]) -> None:
    found, plain = read(SAMPLE), plainly()
    sites: Counter[tuple[tuple[str, int], ...]] = Counter()
    older = sum(
        item["size"]
        for part in plain["segments"]
        for item in part["blocks"]
        if item["state"] == "active_allocated" and not item["frames"] and item["address"] not in allocated_in(plain)
    )
    now = peak = older
    for entry in plain["device_traces"][0]:
        size = -(-entry["size"] // 512) * 512
        if entry["action"] == "alloc":
            sites[tuple((each["filename"], each["line"]) for each in entry["frames"])] += entry["size"]
            now += size
        elif entry["action"] == "free_requested":
            now -= size
        peak = max(peak, now)
    assert max(row["allocated"] for row in found.rows("memory")) == peak
    frames = {row["stack"]: row["frames"] for row in found.rows("stacks")}
    ours: Counter[tuple[tuple[str, int], ...]] = Counter()
    for row in found.rows("allocations"):
        if not row["before_window"]:
            lines = reversed(frames[row["stack"]].split("\n")) if row["stack"] is not None else ()
            places = [line.split("): ")[0].rpartition("(") for line in lines]
            ours[tuple((file, int(number)) for file, _, number in places)] += row["requested_bytes"]
    assert ours == sites


def allocated_in(plain: dict[str, Any]) -> set[int]:
    return {entry["addr"] for entry in plain["device_traces"][0] if entry["action"] == "alloc"}


@needs_sample
def test_times_of_the_sample_are_exact_and_the_out_of_memory_is_there(read: Callable[..., Read]) -> None:
    found, trace = read(SAMPLE), plainly()["device_traces"][0]
    for row in found.rows("allocations"):
        if row["alloc_seq"] is not None:
            assert row["alloc_ns"] == trace[row["alloc_seq"]]["time_us"] * 1000
    oom = next(row for row in found.rows("memory_events") if row["kind"] == "oom")
    assert (oom["bytes"], oom["free_bytes"], oom["seq"]) == (8_796_093_022_208, 149_152_727_040, 494)


@needs_sample
def test_reading_leaves_the_sample_as_it_is(read: Callable[..., Read]) -> None:
    before = SAMPLE.read_bytes()
    read(SAMPLE)
    assert SAMPLE.read_bytes() == before
