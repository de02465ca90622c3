"""Self times, owners and totals against a twin that walks the tree slice by slice, on random trees."""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.stores import make_store
from stepscope.analysis.operators import operators
from stepscope.analysis.operators.nesting import NOWHERE, nesting_of
from stepscope.analysis.operators.ownership import ownership_of
from stepscope.store.run_store import RunStore

Row = dict[str, Any]


class _Tree:
    """A random host thread of operators, annotations, Python frames and calls, and kernels that the calls launched."""

    def __init__(self, seed: int, gap: int = 1) -> None:
        self.random = random.Random(seed)
        self.gap = gap
        self.slices: list[Row] = []
        self.links: list[Row] = []
        for place in range(6):
            self._grow(None, place * 1000, 900, 0)
        for call in [row for row in self.slices if row["kind"] == "runtime"]:
            for _ in range(self.random.choice([0, 1, 1, 3])):
                self._launch(call)

    def _add(self, row: Row) -> int:
        row["slice"] = len(self.slices) * self.gap + 3
        self.slices.append(row)
        return int(row["slice"])

    def _grow(self, parent: int | None, start: int, dur: int, depth: int) -> None:
        kind = self.random.choice(["operator", "operator", "annotation", "python", "runtime"])
        name = f"{kind}{self.random.randrange(4)}"
        number = self._add({"kind": kind, "name": name, "start_ns": start, "dur_ns": dur, "parent": parent})
        if kind == "runtime" or depth > 7:
            return
        inside = start
        while inside + 10 < start + dur and self.random.random() < 0.8:
            length = self.random.randrange(1, start + dur - inside)
            self._grow(number, inside, length, depth + 1)
            inside += length

    def _launch(self, call: Row) -> None:
        kind = self.random.choice(["kernel", "kernel", "copy"])
        row = {
            "kind": kind,
            "name": f"k{self.random.randrange(3)}",
            "start_ns": call["start_ns"],
            "dur_ns": self.random.randrange(50),
        }
        number = self._add({**row, "parent": None})
        self.links.append({"kind": "launch", "from_slice": call["slice"], "to_slice": number})

    def store(self, directory: Path) -> RunStore:
        return make_store(directory, slices=self.slices, links=self.links)


def _by_walking(tree: _Tree) -> dict[str, list[int]]:
    """Per operator name: count, total, self, device total, device self."""
    by_number = {row["slice"]: row for row in tree.slices}

    def operator_above(row: Row) -> Row | None:
        while row["parent"] is not None:
            row = by_number[row["parent"]]
            if row["kind"] == "operator":
                return row
        return None

    sums: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    for row in tree.slices:
        if row["kind"] == "operator":
            for place, amount in ((0, 1), (1, row["dur_ns"]), (2, row["dur_ns"])):
                sums[row["name"]][place] += amount
            if (outer := operator_above(row)) is not None:
                sums[outer["name"]][2] -= row["dur_ns"]
    for link in tree.links:
        work, owner = by_number[link["to_slice"]]["dur_ns"], operator_above(by_number[link["from_slice"]])
        if owner is not None:
            sums[owner["name"]][4] += work
        while owner is not None:
            sums[owner["name"]][3] += work
            owner = operator_above(owner)
    return dict(sums)


@pytest.mark.parametrize("gap", [1, 5_000_011])
@pytest.mark.parametrize("seed", range(8))
def test_self_and_device_times_are_those_of_a_walk_over_the_tree(tmp_path: Path, seed: int, gap: int) -> None:
    tree = _Tree(seed, gap)
    rows = operators(tree.store(tmp_path), by="operator", side="host").data.to_dicts()
    names = ("total_us", "self_us", "device_total_us", "device_self_us")
    found = {row["name"]: [row["count"], *(round(row[name] * 1000) for name in names)] for row in rows}
    assert found == _by_walking(tree)


@pytest.mark.parametrize("seed", range(6))
def test_statistics_of_kernels_are_those_of_the_list_of_durations(tmp_path: Path, seed: int) -> None:
    tree = _Tree(seed)
    durations: dict[str, list[int]] = defaultdict(list)
    for row in tree.slices:
        if row["kind"] == "kernel":
            durations[row["name"]].append(row["dur_ns"])
    found = {row["name"]: row for row in operators(tree.store(tmp_path), side="device").data.to_dicts()}
    assert set(found) == set(durations)
    whole = sum(map(sum, durations.values()))
    for name, values in durations.items():
        row = found[name]
        exact = [row["count"], *(round(row[field] * 1000) for field in ("total_us", "min_us", "max_us"))]
        assert exact == [len(values), sum(values), min(values), max(values)]
        assert row["p50_us"] == pytest.approx(statistics.median(values) / 1000)
        assert row["p95_us"] == pytest.approx(float(np.percentile(values, 95)) / 1000)
        assert row["share"] == pytest.approx(sum(values) / whole)


@pytest.mark.parametrize("gap", [1, 5_000_011])
def test_the_nearest_wanted_slice_is_found_over_any_depth(tmp_path: Path, gap: int) -> None:
    depth = 200
    slices = [{"kind": "operator", "name": "outer", "start_ns": 0, "dur_ns": 999, "parent": None, "slice": 0}]
    for level in range(1, depth):
        slices.append(
            {
                "kind": "python",
                "name": "f",
                "start_ns": level,
                "dur_ns": 500,
                "parent": (level - 1) * gap,
                "slice": level * gap,
            }
        )
    nesting = nesting_of(make_store(tmp_path, slices=slices), 0)
    above = nesting.nearest(nesting.mask("operator"))
    places = nesting.positions(np.array([level * gap for level in range(depth)]))
    top = nesting.positions(np.array([0]))[0]
    assert above[places].tolist() == [NOWHERE] + [top] * (depth - 1)


def test_slices_that_do_not_exist_have_no_position(tmp_path: Path) -> None:
    for gap in (1, 5_000_011):
        store = make_store(
            tmp_path / str(gap), slices=[{"kind": "kernel", "name": "k", "start_ns": 0, "dur_ns": 1, "slice": gap}]
        )
        assert nesting_of(store, 0).positions(np.array([gap + 7, -1])).tolist() == [NOWHERE, NOWHERE]


def test_links_to_slices_that_do_not_exist_are_passed_over(tmp_path: Path) -> None:
    slices = [{"kind": "kernel", "name": "k", "start_ns": 0, "dur_ns": 1}]
    links = [
        {"kind": "launch", "from_slice": 77, "to_slice": 0},
        {"kind": "operator_launch", "from_slice": 0, "to_slice": 99},
    ]
    owners = ownership_of(make_store(tmp_path, slices=slices, links=links), 0)
    assert owners.owner[owners.nesting.positions(np.array([0]))].tolist() == [NOWHERE]


def test_an_operator_link_goes_before_the_launching_call(tmp_path: Path) -> None:
    """On Ascend the call lies on another thread, in a queue; the framework states the operator itself."""
    slices = [
        {"kind": "operator", "name": "aten::mm", "start_ns": 0, "dur_ns": 10},
        {"kind": "operator", "name": "dispatcher", "start_ns": 20, "dur_ns": 10, "track": 1},
        {"kind": "runtime", "name": "AscendCL@aclnnMm", "start_ns": 21, "dur_ns": 5, "parent": 1, "track": 1},
        {"kind": "kernel", "name": "MatMulV2", "start_ns": 40, "dur_ns": 7},
    ]
    links = [
        {"kind": "operator_launch", "from_slice": 0, "to_slice": 3},
        {"kind": "launch", "from_slice": 2, "to_slice": 3},
    ]
    rows = operators(make_store(tmp_path, slices=slices, links=links), by="operator", side="host").data
    assert dict(rows.select("name", "device_self_us").iter_rows()) == {"aten::mm": 0.007, "dispatcher": 0.0}
