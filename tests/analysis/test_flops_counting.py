"""Which calls count, and for how long they ran, against a twin that walks and paints, on random runs."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from analysis.stores import make_store
from stepscope.analysis.flops import flops

Row = dict[str, Any]
_SHAPES = {"aten::mm": "[[4, 8], [8, 2]]", "aten::linear": "[[4, 8], [2, 8]]", "aten::bmm": "[[3, 4, 8], [3, 8, 2]]"}
_FLOPS = {"aten::mm": 2 * 4 * 8 * 2, "aten::linear": 2 * 4 * 8 * 2, "aten::bmm": 2 * 3 * 4 * 8 * 2}


def _random_run(seed: int) -> tuple[list[Row], list[Row]]:
    """Operators inside each other, some with shapes, some calls without; kernels that overlap."""
    chance = random.Random(seed)
    slices: list[Row] = []
    links: list[Row] = []

    def grow(parent: int | None, start: int, dur: int, depth: int) -> None:
        name = chance.choice([*_SHAPES, "aten::other", "launch"])
        if name == "launch" or depth > 5:
            slices.append(
                {"kind": "runtime", "name": "launch", "start_ns": start, "dur_ns": dur, "parent": parent, "track": 0}
            )
            return
        number = len(slices)
        shapes = _SHAPES.get(name) if chance.random() < 0.8 else None
        row = {"kind": "operator", "name": name, "start_ns": start, "dur_ns": dur, "parent": parent, "track": 0}
        slices.append({**row, "input_shapes": shapes, "dtypes": '["c10::Half", "c10::Half"]'})
        for place in range(chance.randrange(4)):
            grow(number, start + place * dur // 4, dur // 4, depth + 1)

    for place in range(8):
        grow(None, place * 10_000, 9000, 0)
    for number in [number for number, row in enumerate(slices) if row["kind"] == "runtime"]:
        for _ in range(chance.randrange(3)):
            links.append({"kind": "launch", "from_slice": number, "to_slice": len(slices)})
            start, dur = chance.randrange(400), chance.randrange(60)
            slices.append(
                {"kind": "kernel", "name": "gemm", "start_ns": start, "dur_ns": dur, "parent": None, "track": 1}
            )
    return slices, links


def _by_walking(slices: list[Row], links: list[Row]) -> dict[str, tuple[int, int, int]]:
    """Per operator: calls that launched kernels, FLOPs, painted nanoseconds."""
    counted = {number for number, row in enumerate(slices) if row["kind"] == "operator" and row["input_shapes"]}

    def around(number: int | None) -> int | None:
        while number is not None and number not in counted:
            number = slices[number]["parent"]
        return number

    outer = {around(slices[number]["parent"]) for number in counted}
    counted -= {number for number in outer if number is not None}
    painted: dict[str, set[int]] = defaultdict(set)
    launched: set[int] = set()
    for link in links:
        owner = around(link["from_slice"])
        if owner is not None:
            launched.add(owner)
            kernel = slices[link["to_slice"]]
            moments = range(kernel["start_ns"], kernel["start_ns"] + kernel["dur_ns"])
            painted[slices[owner]["name"]].update(moments)
    found: dict[str, tuple[int, int, int]] = {}
    for name in {slices[number]["name"] for number in launched}:
        calls = sum(slices[number]["name"] == name for number in launched)
        found[name] = (calls, calls * _FLOPS[name], len(painted[name]))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_calls_and_times_are_those_of_a_walk_over_the_tree(tmp_path: Path, seed: int) -> None:
    slices, links = _random_run(seed)
    tracks = [{"track": 0, "kind": "host"}, {"track": 1, "kind": "stream"}]
    store = make_store(tmp_path, slices=slices, links=links, tracks=tracks, ranks=[{"rank": 0, "device_kind": "gpu"}])
    found = {
        row.name: (row.count, row.flops, round((row.device_us or 0) * 1000)) for row in flops(store).data.operators
    }
    assert found == _by_walking(slices, links)
