"""What a row of operators consists of: the same slices as the row, whatever it is grouped by."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepscope
from analysis.stores import make_store
from stepscope.analysis.occurrences import Occurrences, occurrences
from stepscope.analysis.occurrences.distribution import classes
from stepscope.analysis.operators import operators
from stepscope.analysis.operators.groups import KEYS
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore
from support.mini_trace import write_capture


def _kernel(name: str, dur: int, step: int, **more: Any) -> dict[str, Any]:
    where = {"operator": "aten::mm", "module": "Net_0", "core": "GPU", "track": 1}
    return {"kind": "kernel", "name": name, "start_ns": step * 1000 + dur, "dur_ns": dur, "step": step, **where, **more}


def _store(directory: Path) -> RunStore:
    slices = [
        _kernel("gemm", 40, 1, input_shapes="[[4, 4]]", dtypes="float", stack=7),
        _kernel("gemm", 60, 1, input_shapes="[[4, 4]]", dtypes="float", stack=8),
        _kernel("gemm", 20, 2, input_shapes="[[2, 2]]", dtypes="float", stack=7, module="Net_0/Linear_1"),
        _kernel("relu", 5, 2, operator="aten::relu"),
        _kernel("gemm", 99, 2, core="OTHER"),
    ]
    stacks = [
        {"stack": 7, "frames": "train.py(1): main\nnet.py(5): forward"},
        {"stack": 8, "frames": "train.py(9): eval"},
    ]
    return make_store(directory, slices=slices, stacks=stacks, tracks=[{"track": 1, "kind": "stream"}])


def _asked(store: RunStore, **asked: Any) -> Occurrences:
    (only,) = occurrences(store, **asked).data
    return only


def test_one_row_in_detail(tmp_path: Path) -> None:
    row = _asked(_store(tmp_path), by="kernel", name="gemm", core="GPU")
    assert (row.count, row.total_us, row.p50_us, row.side) == (3, 0.12, 0.04, "device")
    assert [(each.step, each.count, each.total_us) for each in row.steps] == [(1, 2, 0.1), (2, 1, 0.02)]
    assert [(each.input_shapes, each.count, each.total_us) for each in row.shapes] == [
        ("[[4, 4]]", 2, 0.1),
        ("[[2, 2]]", 1, 0.02),
    ]
    assert [(each.frames[-1], each.count, each.total_us) for each in row.call_sites] == [
        ("net.py(5): forward", 2, 0.06),
        ("train.py(9): eval", 1, 0.06),
    ]
    assert [(each.slice, each.duration_us) for each in row.longest] == [(1, 0.06), (0, 0.04), (2, 0.02)]
    assert sum(each.count for each in row.durations) == 3


def test_a_row_of_another_core_is_another_row(tmp_path: Path) -> None:
    store = _store(tmp_path)
    assert _asked(store, by="kernel", name="gemm", core="OTHER").total_us == 0.099
    assert _asked(store, by="kernel", name="gemm").count == 4
    assert _asked(store, by="module", name="Net_0/Linear_1").count == 1
    with pytest.raises(NoAnswerError):
        occurrences(store, by="kernel", name="gemm", core="NONE")


@pytest.mark.parametrize("by", KEYS)
def test_every_row_of_every_grouping_has_the_slices_that_its_total_is_made_of(tmp_path: Path, by: str) -> None:
    run = stepscope.load(write_capture(tmp_path / "capture", [0]), store=tmp_path / "store", progress=False)
    for side in ("device", "host"):
        rows = operators(run.store, by=by, side=side, lane="all").data
        assert len(rows)
        for row in rows.iter_rows(named=True):
            telling = {key: row[key] or "" for key in ("core", "input_shapes", "dtypes")}
            asked = {"by": by, "name": row["name"] or "", "side": side, "lane": "all", **telling}
            answer = _asked(run.store, **asked, kernel_type=row["type"] or "")
            assert (answer.count, answer.total_us) == (row["count"], row["total_us"])
            assert answer.longest[0].duration_us == row["max_us"]
            assert (answer.p50_us, answer.p95_us) == (row["p50_us"], row["p95_us"])


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=60))
def test_every_duration_is_in_one_class(durations: list[int]) -> None:
    found = classes(np.array(durations))
    assert sum(count for _, _, count in found) == len(durations)
    assert (found[0][0], found[-1][1]) == (min(durations), max(durations))
    assert all(before[1] == after[0] for before, after in pairwise(found))


def test_rows_in_any_order_and_in_stretches(tmp_path: Path) -> None:
    store = _store(tmp_path)
    names = operators(store, sort="avg_us").data["avg_us"].to_list()
    assert names == sorted(names, reverse=True)
    lowest = operators(store, sort="avg_us", ascending=True, offset=1, limit=1)
    assert lowest.data["avg_us"].to_list() == [0.04]
    assert lowest.beside["totals"][0].groups == 3
    assert operators(store, kernel_type="relu").data["name"].to_list() == ["relu"]
    assert operators(store, category="matmul").data["name"].unique().to_list() == ["gemm"]
    with pytest.raises(NoAnswerError):
        operators(store, category="nothing like it")
