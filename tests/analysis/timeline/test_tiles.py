"""Tiles against a twin that looks at every slice of every bin; nothing of at least a bin's length is ever lost."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from analysis.stores import make_store
from analysis.timeline.runs import BASE_NS, Made, One, random_run
from stepscope.analysis.foundation.byte_cache import ByteCache
from stepscope.analysis.timeline import wire
from stepscope.analysis.timeline.view import TimelineView
from stepscope.errors import UsageError
from stepscope.store.schema import SLICE_KINDS


@dataclass(frozen=True)
class Item:
    x0: float
    x1: float
    slice: int
    name: str
    count: int
    row: int
    fill: int
    kind: str


def decoded(body: bytes, names: list[str]) -> dict[int, list[Item]]:
    """A second reading of the wire format: items per place in the request."""
    assert body[:4] == b"SST1"
    (tiles,) = struct.unpack_from("<I", body, 4)
    found = {}
    for number in range(tiles):
        key, items, offset, _ = struct.unpack_from("<4I", body, 8 + 16 * number)
        columns = []
        for kind, size in (("f4", 4), ("f4", 4), ("u4", 4), ("u4", 4), ("u2", 2), ("u1", 1), ("u1", 1), ("u1", 1)):
            columns.append(np.frombuffer(body, f"<{kind}", items, offset).tolist())
            offset += items * size
        found[key] = [
            Item(
                x0,
                x1,
                slice_,
                names[name] if kind != 255 else str(name),
                count,
                row,
                fill,
                "" if kind == 255 else SLICE_KINDS[kind],
            )
            for x0, x1, slice_, name, count, row, fill, kind in zip(*columns, strict=True)
        ]
    return found


def twin(made: Made, key: wire.TileKey) -> list[tuple[One, Fraction, Fraction, int, int, int]]:
    """Slice, exact start and end in bins, count, row and fill of what the tile must hold, by looking at everything."""
    width = 2**key.level
    begin = key.index * 1024 * width
    found = []
    for row in range(16 * key.block, 16 * key.block + 16):
        slices = made.of_row(key.rank, row)
        shown = [(one, 0) for one in slices if one.at < begin < one.end][-1:]
        last_in_bin: dict[int, list[One]] = {}
        for one in slices:
            if begin <= one.at < begin + 1024 * width:
                last_in_bin.setdefault((one.at - begin) // width, []).append(one)
        shown += [(ones[-1], len(ones)) for _, ones in sorted(last_in_bin.items())]
        for one, count in shown:
            start = max(Fraction(one.at - begin, width), Fraction(0))
            end = min(Fraction(one.end - begin, width), Fraction(1024))
            edge = begin + int(start) * width
            busy = sum(each.inside(edge, edge + width) for each in slices)
            fill = 255 if count == 0 else -(-busy * 255 // width)
            found.append((one, start, end, count, row - 16 * key.block, fill))
    return found


def assert_same(items: list[Item], expected: list[tuple[One, Fraction, Fraction, int, int, int]]) -> None:
    assert [item.slice for item in items] == [one.slice for one, *_ in expected]
    for item, (one, start, end, count, row, fill) in zip(items, expected, strict=True):
        assert (item.name, item.kind, item.row, item.fill) == (one.name, one.kind, row, fill)
        assert item.count == min(count, 65535)
        assert int(item.x0) == int(start) or start == 1024
        assert 0 <= start - Fraction(item.x0) <= Fraction(1, 8192)
        assert 0 <= Fraction(item.x1) - end <= Fraction(1, 8192)


def _random_keys(dice: random.Random, made: Made, ranks: int, count: int) -> list[wire.TileKey]:
    keys = []
    for _ in range(count):
        level = dice.choice((0, 1, 3, 5, 8, 11, 14, 17, 20, 30, 50))
        tiles = made.span // (1024 << level) + 1
        keys.append(wire.TileKey(dice.randrange(ranks), dice.randrange(3), level, dice.randrange(-1, tiles + 1)))
    return keys


@pytest.mark.parametrize("seed", range(8))
def test_tiles_hold_what_a_look_at_every_slice_finds(tmp_path: Path, seed: int) -> None:
    made = random_run(tmp_path, seed, ranks=2)
    view = made.view
    keys = _random_keys(random.Random(seed), made, 2, 40)
    for key in keys:
        names = view.columns(key.rank).names.to_list()
        assert_same(decoded(wire.slice_tiles(view, [key]), names)[0], twin(made, key))


@pytest.mark.parametrize("seed", range(4))
def test_every_slice_of_at_least_one_bin_is_in_every_tile_it_touches(tmp_path: Path, seed: int) -> None:
    made = random_run(tmp_path, seed, tracks=4, slices=400)
    view = made.view
    names = view.columns(0).names.to_list()
    checked = 0
    for level in (4, 9, 13, 18):
        width = 1024 << level
        for index in range(made.span // width + 1):
            for block in range(view.columns(0).rows // 16 + 1):
                body = wire.slice_tiles(view, [wire.TileKey(0, block, level, index)])
                shown = {item.slice for item in decoded(body, names)[0]}
                long = [one for one in made.slices if one.dur >= 1 << level and one.row // 16 == block]
                long = [one for one in long if one.inside(index * width, (index + 1) * width)]
                assert {one.slice for one in long} <= shown
                checked += len(long)
    assert checked > 100


def test_counts_over_all_tiles_add_up_to_all_slices(tmp_path: Path) -> None:
    made = random_run(tmp_path, 1)
    view = made.view
    names = view.columns(0).names.to_list()
    for level in (5, 12):
        tiles = range(made.span // (1024 << level) + 1)
        keys = [wire.TileKey(0, block, level, index) for block in range(3) for index in tiles]
        answers = [decoded(wire.slice_tiles(view, [key]), names)[0] for key in keys]
        assert sum(item.count for items in answers for item in items) == len(made.slices)


def test_times_stay_exact_far_from_the_origin_and_over_days(tmp_path: Path) -> None:
    days = 40 * 86_400 * 10**9
    slices = [
        {"start_ns": BASE_NS, "dur_ns": 7, "name": "first", "kind": "operator"},
        {"start_ns": BASE_NS + days + 3, "dur_ns": 1, "name": "last", "kind": "operator"},
    ]
    facts = [{"rank": 0, "first_ns": BASE_NS, "last_ns": BASE_NS + days + 4}]
    view = TimelineView(make_store(tmp_path, slices=slices, ranks=facts))
    names = view.columns(0).names.to_list()
    (item,) = decoded(wire.slice_tiles(view, [wire.TileKey(0, 0, 0, (days + 3) // 1024)]), names)[0]
    assert (item.name, item.x0, item.x1) == ("last", (days + 3) % 1024, (days + 3) % 1024 + 1)


def test_a_start_just_before_a_bin_edge_is_not_rounded_into_the_next_bin(tmp_path: Path) -> None:
    start = (1 << 40) * 5 - 1
    slices = [
        {"start_ns": BASE_NS, "dur_ns": 0, "name": "a", "kind": "mark"},
        {"start_ns": BASE_NS + start, "dur_ns": 1, "name": "b", "kind": "operator"},
    ]
    view = TimelineView(make_store(tmp_path, slices=slices, ranks=[{"rank": 0, "first_ns": BASE_NS}]))
    items = decoded(wire.slice_tiles(view, [wire.TileKey(0, 0, 40, 0)]), view.columns(0).names.to_list())[0]
    assert [int(item.x0) for item in items] == [0, 4]
    assert items[1].x1 == 5.0
    assert (items[0].fill, items[1].fill) == (0, 1)


def test_a_count_beyond_two_bytes_is_saturated(tmp_path: Path) -> None:
    slices = [
        {"start_ns": BASE_NS + 2 * place, "dur_ns": 1, "name": "n", "kind": "operator"} for place in range(70_000)
    ]
    view = TimelineView(make_store(tmp_path, slices=slices, ranks=[{"rank": 0, "first_ns": BASE_NS}]))
    (item,) = decoded(wire.slice_tiles(view, [wire.TileKey(0, 0, 18, 0)]), ["n"])[0]
    assert item.count == 65535
    assert item.slice == 69_999


@pytest.mark.parametrize(("level", "index"), [(50, 1 << 53), (50, -(1 << 53)), (0, 1 << 53), (50, 4096), (50, -4097)])
def test_a_tile_far_outside_all_time_is_empty(tmp_path: Path, level: int, index: int) -> None:
    view = random_run(tmp_path, 3).view
    assert decoded(wire.slice_tiles(view, [wire.TileKey(0, 0, level, index)]), [])[0] == []


def test_rows_beyond_the_last_are_empty_and_unknown_ranks_refused(tmp_path: Path) -> None:
    view = random_run(tmp_path, 3).view
    assert decoded(wire.slice_tiles(view, [wire.TileKey(0, 1 << 26, 5, 0)]), [])[0] == []
    with pytest.raises(UsageError, match="no rank 7"):
        wire.slice_tiles(view, [wire.TileKey(7, 0, 5, 0)])


def test_a_run_without_slices_has_empty_tiles(tmp_path: Path) -> None:
    view = TimelineView(make_store(tmp_path, counters=[{"track": 1, "time_ns": BASE_NS, "value": 1.0}]))
    assert decoded(wire.slice_tiles(view, [wire.TileKey(0, 0, 5, 0), wire.TileKey(0, -1, 5, 0)]), []) == {0: [], 1: []}


def test_a_batch_stops_at_two_megabytes_but_answers_at_least_one(tmp_path: Path) -> None:
    rows = [
        {"row": row, "start_ns": BASE_NS + 2 * place, "dur_ns": 1, "name": "n", "kind": "operator"}
        for row in range(16)
        for place in range(4096)
    ]
    view = TimelineView(make_store(tmp_path, slices=rows, ranks=[{"rank": 0, "first_ns": BASE_NS}]))
    keys = [wire.TileKey(0, 0, 1, index) for index in range(4)] * 4
    cache = ByteCache(wire.MOST_TILE_BYTES)
    body = wire.slice_tiles(view, keys, cache)
    assert len(body) <= 2_000_000
    found = decoded(body, ["n"])
    assert list(found) == list(range(len(found)))
    assert len(found[0]) == 16 * 1024
    assert 1 < len(found) < len(keys)
    assert wire.slice_tiles(view, keys, cache) == body


def test_slices_that_were_stored_out_of_order_are_shown_in_order(tmp_path: Path) -> None:
    made = random_run(tmp_path / "sorted", 5)
    shuffled = made.store.scan("slices").collect().sample(fraction=1, shuffle=True, seed=1)
    ranks, tracks = made.store.scan("ranks").collect(), made.store.scan("tracks").collect()
    other = TimelineView(make_store(tmp_path / "shuffled", slices=shuffled, ranks=ranks, tracks=tracks))
    keys = [wire.TileKey(0, block, 11, 0) for block in range(2)]
    assert wire.slice_tiles(other, keys) == wire.slice_tiles(made.view, keys)


def test_ids_that_are_far_apart_are_found(tmp_path: Path) -> None:
    rows = [
        {"slice": number, "start_ns": BASE_NS + place, "dur_ns": 1, "name": "n", "kind": "operator"}
        for place, number in enumerate((4_294_967_295, 5, 2_000_000_000))
    ]
    columns = TimelineView(make_store(tmp_path, slices=rows)).columns(0)
    assert columns.positions([5, 6, 4_294_967_295, 2_000_000_000]).tolist() == [1, -1, 0, 2]
