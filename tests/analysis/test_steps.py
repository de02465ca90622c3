"""The step trace: by hand, against a painted twin, and the phases of training, inference and CPU runs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.stores import make_store
from stepscope.analysis.steps import steps
from stepscope.errors import NoAnswerError

Row = dict[str, Any]
_PARTS = ("computing_us", "exposed_communication_us", "exposed_copy_us", "free_us")


def _slice(kind: str, start: int, end: int, step: int | None = 1, **more: Any) -> Row:
    return {"kind": kind, "name": kind, "start_ns": start, "dur_ns": end - start, "step": step, **more}


def _step(number: int, start: int, end: int, **more: Any) -> Row:
    return {"step": number, "host_start_ns": start, "host_end_ns": end, "marks_from": "profiler_step", **more}


def _nanoseconds(row: Row, *names: str) -> list[int | None]:
    return [None if row[name] is None else round(row[name] * 1000) for name in names]


def test_a_step_computed_by_hand(tmp_path: Path) -> None:
    #        0         10        20        30        40        50
    # copy     2----6
    # kernel        7-----15      22--26
    # all_reduce         12-----20                  38--44
    # receive                        24------32
    store = make_store(
        tmp_path,
        slices=[
            _slice("copy", 2, 6),
            _slice("kernel", 7, 15),
            _slice("kernel", 22, 26),
            _slice("collective", 12, 20, name="hcom_allReduce__1"),
            _slice("collective", 24, 32, name="hcom_receive__2"),
            _slice("collective", 38, 44, name="hcom_allReduce__3"),
            _slice("reported", 0, 50),
            _slice("operator", 0, 50),
        ],
        steps=[_step(1, 0, 40, forward_start_ns=2, backward_end_ns=26)],
    )
    (row,) = steps(store).data.to_dicts()
    assert _nanoseconds(row, "duration_us", "device_span_us", "computing_us", "communication_us") == [40, 42, 12, 22]
    assert _nanoseconds(row, "overlapped_us", "pure_computing_us", "exposed_communication_us") == [5, 7, 17]
    assert _nanoseconds(row, "receive_alone_us", "collective_alone_us", "bubble_us", "stage_us") == [6, 11, 8, 34]
    assert _nanoseconds(row, "exposed_copy_us", "free_us", "preparing_us") == [4, 9, 7]
    assert _nanoseconds(row, "interval_us", "forward_backward_us", "tail_us") == [2, 24, 18]
    assert row["mode"] == "training"


def test_the_interval_runs_from_the_end_of_the_step_before(tmp_path: Path) -> None:
    store = make_store(
        tmp_path,
        slices=[_slice("kernel", 5, 105, 1), _slice("kernel", 120, 190, 2), _slice("kernel", 204, 290, 3)],
        steps=[
            _step(1, 0, 100, forward_start_ns=5, backward_end_ns=90),
            _step(2, 100, 200, forward_start_ns=120, backward_end_ns=180),
            _step(3, 200, 300, forward_start_ns=204, backward_end_ns=280),
        ],
    )
    data = steps(store).data
    # Step 1 ends with its kernel at 105, step 2 with its mark at 200.
    assert [round(value * 1000) for value in data["interval_us"]] == [5, 15, 4]
    assert [round(value * 1000) for value in data["tail_us"]] == [15, 20, 20]


def test_the_first_interval_begins_when_the_device_is_done_with_what_was_launched_before(tmp_path: Path) -> None:
    store = make_store(
        tmp_path,
        slices=[_slice("kernel", 3, 60, None), _slice("kernel", 64, 105, 1)],
        steps=[_step(1, 0, 100, forward_start_ns=64, backward_end_ns=90)],
        links=[{"rank": 0, "kind": "launch", "from_slice": 99, "to_slice": 1}],
    )
    (row,) = steps(store).data.to_dicts()
    # Busy until 60 with what belongs to no step; the parts add up to the period, 60 to 105.
    assert _nanoseconds(row, "period_us", "interval_us", "forward_backward_us", "tail_us") == [45, 4, 26, 15]


def test_a_step_without_backward_is_inference(tmp_path: Path) -> None:
    store = make_store(tmp_path, slices=[_slice("kernel", 10, 30)], steps=[_step(1, 0, 40, forward_start_ns=10)])
    (row,) = steps(store).data.to_dicts()
    assert row["mode"] == "inference"
    assert _nanoseconds(row, "interval_us", "forward_backward_us", "tail_us") == [10, 20, None]


def test_work_belongs_to_the_step_that_launched_it_even_where_steps_overlap_on_the_device(tmp_path: Path) -> None:
    store = make_store(
        tmp_path,
        slices=[_slice("collective", 50, 140, 1), _slice("kernel", 10, 60, 1), _slice("kernel", 110, 150, 2)],
        steps=[_step(1, 0, 100), _step(2, 100, 200)],
    )
    first, second = steps(store).data.to_dicts()
    assert _nanoseconds(first, "device_span_us", "exposed_communication_us", "free_us") == [130, 80, 0]
    assert _nanoseconds(second, "device_span_us", "computing_us", "communication_us") == [40, 40, 0]


@pytest.mark.parametrize(("marks_from", "tail_ns"), [("range", 14), (None, 14), ("window", None)])
def test_a_window_without_marks_has_no_tail(marks_from: str | None, tail_ns: int | None, tmp_path: Path) -> None:
    # Two iterations: what lies behind the last backward is the tail of the second alone.
    slices = [_slice("kernel", 0, 10), _slice("kernel", 10, 26), _slice("kernel", 26, 40)]
    marked = {"marks_from": marks_from, "forward_start_ns": 0, "backward_end_ns": 26}
    (row,) = steps(make_store(tmp_path, slices=slices, steps=[_step(1, 0, 40) | marked])).data.to_dicts()
    assert _nanoseconds(row, "tail_us", "interval_us", "forward_backward_us") == [tail_ns, 0, 26]
    assert row["mode"] == "training"


def test_without_accelerator_leaf_operators_count_and_the_span_is_the_host_window(tmp_path: Path) -> None:
    store = make_store(
        tmp_path,
        slices=[
            _slice("operator", 10, 60, name="aten::linear", slice=0, phase="forward"),
            _slice("annotation", 15, 55, slice=1, parent=0),
            _slice("operator", 20, 50, name="aten::addmm", slice=2, parent=1, phase="forward"),
            _slice("collective", 70, 90, name="gloo:all_reduce", slice=3),
            _slice("operator", 80, 120, name="AddmmBackward0", slice=4, phase="backward"),
        ],
        steps=[_step(1, 0, 100)],
    )
    answer = steps(store)
    (row,) = answer.data.to_dicts()
    assert _nanoseconds(row, "device_span_us", "computing_us", "communication_us", "overlapped_us") == [100, 70, 20, 10]
    assert _nanoseconds(row, "free_us", "interval_us", "forward_backward_us") == [20, 10, 110]
    assert _nanoseconds(row, "enclosing_us") == [20]  # aten::linear around aten::addmm: 10 to 20 and 50 to 60
    assert _nanoseconds(row, "period_us", "idle_us", "overlap_us") == [100, 20, 0]
    assert [note.code for note in answer.notes] == ["host_operators_are_work"]


def test_operators_around_others_compute_while_others_communicate_unless_they_may_wait(tmp_path: Path) -> None:
    store = make_store(
        tmp_path,
        slices=[
            _slice("operator", 10, 50, name="aten::addmm", slice=0),  # computes itself
            _slice("operator", 12, 14, name="aten::resolve_conj", slice=1, parent=0),
            _slice("operator", 60, 90, name="autograd::engine::evaluate_function: MmBackward0", slice=2),  # may wait
            _slice("operator", 62, 70, name="aten::mm", slice=3, parent=2),
            _slice("operator", 110, 150, name="aten::mm", slice=4),  # of a distributed tensor: waits inside
            _slice("operator", 112, 120, name="aten::view", slice=5, parent=4),
            _slice("annotation", 120, 145, slice=6, parent=4),
            _slice("collective", 125, 140, name="_c10d_functional::wait_tensor", slice=7, parent=6),
            _slice("collective", 30, 80, name="gloo:all_reduce", slice=8, track=1),
        ],
        tracks=[{"track": 0, "kind": "thread"}, {"track": 1, "kind": "thread"}],
        steps=[_step(1, 0, 200)],
    )
    (row,) = steps(store).data.to_dicts()
    # 10 to 50 and 62 to 70 compute, 80 to 90 and what is left of 110 to 150 is known to nobody else.
    assert _nanoseconds(row, "communication_us", "overlapped_us", "exposed_communication_us") == [65, 28, 37]
    assert _nanoseconds(row, "computing_us", "pure_computing_us", "idle_us") == [83, 55, 80]
    assert _nanoseconds(row, "enclosing_us") == [83 - 2 - 8 - 8]  # without the leaves


def test_communication_without_compute_leaves_unknown_what_cannot_be_known(tmp_path: Path) -> None:
    store = make_store(
        tmp_path, slices=[_slice("collective", 10, 30)], tracks=[{"track": 0, "kind": "plane"}], steps=[_step(1, 0, 40)]
    )
    answer = steps(store)
    (row,) = answer.data.to_dicts()
    assert row["computing_us"] is None
    assert row["free_us"] is None
    assert row["duration_us"] == 0.04
    assert [note.code for note in answer.notes] == ["no_compute_recorded"]


def test_a_run_without_steps_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoAnswerError, match="No steps were recorded"):
        steps(make_store(tmp_path, slices=[_slice("kernel", 0, 1, None)]))


def test_a_step_that_is_not_there(tmp_path: Path) -> None:
    store = make_store(tmp_path, slices=[_slice("kernel", 0, 1)], steps=[_step(1, 0, 2)])
    with pytest.raises(NoAnswerError, match="in step 7"):
        steps(store, steps=[7])


def test_long_first_steps_are_warm_up_and_a_cut_last_step_is_incomplete(tmp_path: Path) -> None:
    marks = [_step(n, n * 100, n * 100 + (90 if n else 95)) for n in range(10)]
    marks[0]["host_start_ns"] = -300
    work = [_slice("kernel", n * 100 + k, n * 100 + k + 1, n) for n in range(10) for k in range(10 if n < 9 else 3)]
    data = steps(make_store(tmp_path, slices=work, steps=marks)).data
    assert data.filter("warm_up")["step"].to_list() == [0]
    assert data.filter("incomplete")["step"].to_list() == [9]


@pytest.mark.parametrize("seed", range(25))
def test_every_part_equals_a_painted_twin_and_the_identity_holds(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    marks = [_step(n, n * 200, n * 200 + 200) for n in range(3)]
    work = []
    for _ in range(chance.randrange(1, 40)):
        step, start = chance.randrange(3), chance.randrange(200)
        kind = chance.choice(["kernel", "collective", "copy"])
        name = chance.choice(["hcom_receive__1", "hcom_allReduce__1"]) if kind == "collective" else kind
        begin = step * 200 + start
        work.append(_slice(kind, begin, begin + chance.randrange(60), step, name=name))
    work.append(_slice("kernel", 0, 1, 0))
    for row in steps(make_store(tmp_path, slices=work, steps=marks)).data.to_dicts():
        mine = [one for one in work if one["step"] == row["step"]]
        if not mine:
            assert {row[name] for name in _PARTS} == {0.0}
            continue

        def moments(*chosen: str, rows: list[Row] = mine) -> set[int]:
            return {
                moment
                for one in rows
                if one["kind"] in chosen or one["name"] in chosen
                for moment in range(one["start_ns"], one["start_ns"] + one["dur_ns"])
            }

        first = min(one["start_ns"] for one in mine)
        last = max(one["start_ns"] + one["dur_ns"] for one in mine)
        compute, communication, copy = moments("kernel"), moments("collective"), moments("copy")
        receive, others = moments("hcom_receive__1"), moments("hcom_allReduce__1")
        expected = {
            "device_span_us": last - first,
            "computing_us": len(compute),
            "communication_us": len(communication),
            "overlapped_us": len(compute & communication),
            "pure_computing_us": len(compute - communication),
            "exposed_communication_us": len(communication - compute),
            "receive_alone_us": len(receive - compute - others),
            "collective_alone_us": len(others - compute),
            "exposed_copy_us": len(copy - compute - communication),
            "free_us": last - first - len(compute | communication | copy),
            "bubble_us": len(receive),
            "stage_us": last - first - len(receive),
        }
        assert {name: round(row[name] * 1000) for name in expected} == expected
        assert sum(round(row[name] * 1000) for name in _PARTS) == expected["device_span_us"]


def test_ranks_may_be_chosen(tmp_path: Path) -> None:
    work = pl.DataFrame([{**_slice("kernel", 0, 10), "rank": rank, "slice": 0} for rank in range(3)])
    store = make_store(tmp_path, slices=work, steps=[{**_step(1, 0, 20), "rank": rank} for rank in range(3)])
    assert steps(store, ranks=[2]).data["rank"].to_list() == [2]
