"""Runs without accelerator: operators that hold others do work too, in every question; by hand and painted."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import stepscope
from analysis.launch_cases import STREAM, Case
from stepscope.analysis.drill import drill
from stepscope.analysis.launches import launches
from stepscope.analysis.operators import operators
from stepscope.analysis.steps import steps
from stepscope.analysis.summary import summary
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore

_CALLS = ("operator", "collective")


def _matmul(case: Case, start: float, end: float, *, step: int = 1) -> int:
    """As PyTorch records it: the product itself is time of aten::mm, around a light operator."""
    outer = case.slice("aten::mm", "operator", start, end, step=step)
    case.slice("aten::resolve_conj", "operator", start + 1, start + 2, step=step, parent=outer)
    return outer


def _two_products(directory: Path) -> RunStore:
    case = Case()
    case.step(1, 0, 100)
    _matmul(case, 10, 50)
    case.slice("gc", "gc", 20, 30, step=1)
    _matmul(case, 60, 90)
    case.slice("gc", "gc", 52, 56, step=1)
    return case.store(directory)


def _by_name(store: RunStore, **asked: Any) -> dict[str, float]:
    return {row["name"]: row["total_us"] for row in operators(store, **asked).data.to_dicts()}


def test_the_heavy_operator_has_its_time_although_it_holds_a_light_one(tmp_path: Path) -> None:
    store = _two_products(tmp_path)
    assert _by_name(store) == {"aten::mm": 68.0, "aten::resolve_conj": 2.0}  # 40 + 30, less 1 each
    assert _by_name(store, by="category")["matmul"] == 68.0
    found = drill(store, by="operator", name="aten::mm").data
    assert (found.side, found.count, found.total_us) == ("host", 2, 68.0)
    assert [(one.slice, one.duration_us) for one in found.slices] == [(1, 39.0), (4, 29.0)]


def test_the_host_is_idle_only_where_no_operator_runs(tmp_path: Path) -> None:
    answer = launches(_two_products(tmp_path)).data
    (idle,) = answer.idle
    assert (idle.idle_us, idle.free_us, idle.gaps) == (30.0, 30.0, 3)  # 0-10, 50-60, 90-100
    assert {(gap.start_ns // 1000, gap.next_name) for gap in answer.gaps} == {
        (0, "aten::mm"),
        (50, "aten::mm"),
        (90, None),
    }
    assert [(pause.duration_us, pause.idle_us) for pause in answer.gc_pauses] == [(10.0, 0.0), (4.0, 4.0)]


def test_a_step_that_begins_in_an_idle_stretch_has_no_empty_gap(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 100)
    case.step(2, 100, 200)
    case.slice("aten::relu", "operator", 10, 80, step=1)
    case.slice("aten::relu", "operator", 130, 200, step=2)
    answer = launches(case.store(tmp_path)).data
    assert [(row.step, row.gaps, row.idle_us) for row in answer.idle] == [(1, 2, 30.0), (2, 1, 30.0)]
    assert [gap.duration_us for gap in answer.gaps] == [30.0, 20.0, 10.0]


def test_a_collective_inside_an_operator_is_not_counted_twice(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 100)
    outer = case.slice("c10d::allreduce_", "operator", 10, 50, step=1)
    case.slice("gloo:all_reduce", "collective", 20, 45, step=1, parent=outer)
    store = case.store(tmp_path)
    assert _by_name(store, lane="all") == {"gloo:all_reduce": 25.0, "c10d::allreduce_": 15.0}
    assert _by_name(store, lane="communication") == {"gloo:all_reduce": 25.0, "c10d::allreduce_": 15.0}
    with pytest.raises(NoAnswerError):  # what a host spends in calling a collective it does not compute
        _by_name(store)


def test_a_host_that_is_blocked_in_sending_does_not_compute(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 100)
    case.slice("aten::mm", "operator", 10, 20, step=1)
    case.slice("c10d::send", "operator", 20, 80, step=1)
    case.slice("_c10d_functional::wait_tensor", "operator", 85, 95, step=1)
    (row,) = steps(case.store(tmp_path)).data.to_dicts()
    assert (row["computing_us"], row["exposed_communication_us"], row["idle_us"]) == (10, 70, 20)


def test_beside_a_device_leaves_stand_for_the_host(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 100)
    _matmul(case, 10, 50)
    case.slice("gemm", "kernel", 60, 90, track=STREAM, step=1)
    store = case.store(tmp_path)
    assert _by_name(store, side="host") == {"aten::resolve_conj": 1.0}
    assert _by_name(store) == {"gemm": 30.0}


def _random_calls(case: Case, chance: random.Random) -> dict[int, tuple[str, str]]:
    """Operators, annotations and collectives in each other, three steps of 200 us; the innermost call at each us."""
    painted: dict[int, tuple[str, str]] = {}

    def inside(start: int, end: int, step: int, parent: int | None, depth: int) -> None:
        at = start
        while depth < 4 and end - at > 6 and chance.random() < 0.8:
            first = chance.randrange(at, end - 2)
            last = chance.randrange(first + 1, end + 1)
            kind = chance.choice(["operator", "operator", "operator", "annotation", "collective"])
            name = f"{kind}{chance.randrange(4)}"
            own = case.slice(name, kind, first, last, step=step, parent=parent)
            if kind in _CALLS:
                painted.update(dict.fromkeys(range(first, last), (kind, name)))
            inside(first, last, step, own, depth + 1)
            at = last

    for step in range(3):
        case.step(step, step * 200, step * 200 + 200)
    case.slice("operator9", "operator", 0, 5, step=0)
    painted.update(dict.fromkeys(range(5), ("operator", "operator9")))
    for step in range(3):
        if chance.random() < 0.8:
            inside(step * 200 + 5, step * 200 + 200, step, None, 0)
    return painted


def _stretches(moments: list[int]) -> int:
    return sum(1 for place, moment in enumerate(moments) if place == 0 or moments[place - 1] != moment - 1)


@pytest.mark.parametrize("seed", range(25))
def test_every_question_agrees_with_a_painted_twin(tmp_path: Path, seed: int) -> None:
    case = Case()
    painted = _random_calls(case, random.Random(seed))
    store = case.store(tmp_path)
    own = Counter(name for kind, name in painted.values() if kind == "operator")
    assert _by_name(store) == dict(own)
    assert operators(store).data["busy_share"].sum() == pytest.approx(own.total() / len(painted))
    for name, length in own.items():
        assert drill(store, by="operator", name=name).data.total_us == length

    empty = [moment for moment in range(600) if moment not in painted]
    rows = steps(store).data.to_dicts()
    assert all(row["free_us"] == row["idle_us"] == sum(row["idle_by_cause"].values()) for row in rows)
    idle = {row["step"]: row["free_us"] for row in rows}
    assert idle == {step: sum(moment // 200 == step for moment in empty) for step in range(3)}
    assert all(row["device_span_us"] == 200.0 for row in rows)
    reached = 0
    for row in launches(store).data.idle:
        begin, end = row.step * 200, row.step * 200 + 200
        lead = [moment for moment in empty if reached <= moment < begin] if reached else []
        span = [moment for moment in empty if begin <= moment < end]
        assert (row.lead_us, row.free_us, row.other_step_us) == (len(lead), len(span), 0)
        assert (row.idle_us, row.gaps) == (len(lead) + len(span), _stretches(lead) + _stretches(span))
        reached = end


@pytest.mark.torch
def test_a_real_product_of_matrices_is_the_longest_operator(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from torch.profiler import ProfilerActivity, profile, schedule

    trace, one = tmp_path / "trace.json", torch.rand(256, 256)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=4),
        on_trace_ready=lambda recorded: recorded.export_chrome_trace(str(trace)),
    ) as recording:
        for _ in range(6):
            for _ in range(20):
                torch.mm(one, one)
            recording.step()
    theirs = {entry.key: entry.self_cpu_time_total for entry in recording.key_averages()}
    store = stepscope.load(trace, progress=False).store
    rows = operators(store).data.to_dicts()
    assert (rows[0]["name"], rows[0]["count"]) == ("aten::mm", 80)
    assert rows[0]["total_us"] == pytest.approx(theirs["aten::mm"], rel=1e-3)
    assert drill(store, by="operator", name="aten::mm").data.total_us == pytest.approx(rows[0]["total_us"])
    (told,) = summary(store).data.ranks
    assert told.duration_us is not None
    spent = statistics.median(row.idle_us for row in launches(store).data.idle)
    assert spent < told.duration_us / 2, "products are work"
