"""op_statistic.csv and api_statistic.csv of real captures, every row and column, recomputed from events."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.captures import opened
from analysis.stores import make_store
from stepscope.analysis.api_statistics import ApiStatistic, api_statistics, level_and_name
from stepscope.analysis.op_statistics import OpStatistic, op_statistics
from stepscope.errors import NoAnswerError

_RANKS = [0, 1]
_HALF = Decimal("0.0005")  # the files have three decimals
_NS = Decimal("0.001")


def _output(shared_data: Path, rank: int) -> Path:
    return shared_data / "ascend" / "text_level1" / f"rank{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"


def _table(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _exact(value: float) -> Decimal:
    """Microseconds that hold whole nanoseconds."""
    return Decimal(round(value * 1000)) / 1000


def _kernel_durations(output: Path) -> dict[tuple[str, str], list[Decimal]]:
    """Durations in trace_view.json, with all decimals, by the type and core that kernel_details.csv gives each."""
    with (output / "trace_view.json").open(encoding="utf-8") as file:
        events = json.load(file, parse_float=Decimal)
    tasks = {
        (event["args"]["Physic Stream Id"], event["args"]["Task Id"], str(event["ts"])): Decimal(event["dur"])
        for event in events
        if event.get("ph") == "X" and "Task Id" in event.get("args", {})
    }
    found: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for row in _table(output / "kernel_details.csv"):
        if row["Accelerator Core"] == "HCCL":
            continue  # the vendor's table is of compute alone
        key = (int(row["Stream ID"]), int(row["Task ID"]), row["Start Time(us)"].strip())
        found[row["Type"], row["Accelerator Core"]].append(tasks[key])
    return found


@pytest.mark.parametrize("rank", _RANKS)
def test_every_cell_of_op_statistic(shared_data: Path, rank: int) -> None:
    """Count, minimum, maximum, average, total and ratio of all rows.

    Ours are sums of whole nanoseconds, as the timeline has them. The vendor adds durations made of cycles, which have
    parts of a nanosecond, and rounds the sum. So a cell may differ by half a nanosecond per kernel, and each that
    differs is explained: the same durations with all their decimals, from trace_view.json, give the vendor's value.
    """
    ours = {
        (row["op_type"], row["core_type"]): row
        for row in op_statistics(opened("ascend", "text_level1"), ranks=[rank]).plain()
    }
    durations = _kernel_durations(_output(shared_data, rank))
    whole = sum((sum(values, Decimal()) for values in durations.values()), Decimal())
    theirs = _table(_output(shared_data, rank) / "op_statistic.csv")
    assert len(theirs) == len(ours) == 33
    explained = 0
    for row in theirs:
        key = (row["OP Type"], row["Core Type"])
        mine, values = ours[key], durations[key]
        assert mine["count"] == int(row["Count"]) == len(values)
        count, total = len(values), sum(values, Decimal())
        cells = {
            "Total Time(us)": (_exact(mine["total_us"]), total, count * _HALF),
            "Min Time(us)": (_exact(mine["min_us"]), min(values), _HALF),
            "Max Time(us)": (_exact(mine["max_us"]), max(values), _HALF),
            "Avg Time(us)": (Decimal(mine["avg_us"]), total / count, _HALF),
            "Ratio(%)": (Decimal(mine["ratio_share"] * 100), 100 * total / whole, _HALF),
        }
        for column, (value, exact, slack) in cells.items():
            vendor = Decimal(row[column])
            assert abs(exact - vendor) <= _HALF + Decimal("1e-9"), (key, column)
            assert abs(value - exact) <= slack + Decimal("1e-9"), (key, column)
            explained += abs(value - vendor) > _HALF
    assert explained > 0  # else this test explains nothing and can be simpler


def _call_durations(output: Path) -> dict[tuple[str, str], list[Decimal]]:
    """Durations of calls in trace_view.json, by level and name."""
    with (output / "trace_view.json").open(encoding="utf-8") as file:
        events = json.load(file, parse_float=Decimal)
    found: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for event in events:
        if event.get("ph") == "X" and "level" in event.get("args", {}):
            found[event["args"]["level"], event["name"].partition("@")[2]].append(Decimal(event["dur"]))
    return found


@pytest.mark.parametrize("rank", _RANKS)
def test_every_cell_of_api_statistic(shared_data: Path, rank: int) -> None:
    """Calls have whole multiples of 10 ns, so all cells agree to the last decimal of the file, but for three variances.

    The vendor takes deviations from its rounded average and rounds each square to three decimals; ours is exact.
    Ours has more rows: the framework's own task queue, which the vendor's table leaves out.
    """
    rows = api_statistics(opened("ascend", "text_level1"), ranks=[rank]).plain()
    ours = {(row["level"], row["name"]): row for row in rows}
    assert len(ours) == len(rows)
    theirs = _table(_output(shared_data, rank) / "api_statistic.csv")
    durations = _call_durations(_output(shared_data, rank))
    assert set(durations) == {(row["Level"], row["API Name"]) for row in theirs}
    assert {level for level, _ in ours} == {row["Level"] for row in theirs} | {"queue"}
    assert len([key for key in ours if key[0] != "queue"]) == len(theirs) == 57
    differing = 0
    for row in theirs:
        key = (row["Level"], row["API Name"])
        mine, values = ours[key], durations[key]
        count = len(values)
        assert mine["count"] == int(row["Count"]) == count
        for column, field in {
            "Time(us)": "total_us",
            "Avg(us)": "avg_us",
            "Min(us)": "min_us",
            "Max(us)": "max_us",
        }.items():
            assert abs(Decimal(mine[field]) - Decimal(row[column])) <= _HALF + Decimal("1e-9"), (key, column)
        mean, vendor = sum(values, Decimal()) / count, Decimal(row["Variance"])
        exact = sum(((value - mean) ** 2 for value in values), Decimal()) / count
        assert mine["variance_us2"] == pytest.approx(float(exact), rel=1e-12, abs=1e-12)
        squares = [((value - Decimal(row["Avg(us)"])) ** 2).quantize(_NS, ROUND_HALF_UP) for value in values]
        assert abs(sum(squares, Decimal()) / count - vendor) <= _HALF, key
        differing += abs(exact - vendor) > _HALF
    assert differing == [2, 1][rank]


def test_statistics_by_hand(tmp_path: Path) -> None:
    def of(kind: str, name: str, dur: int, **more: Any) -> dict[str, Any]:
        return {"kind": kind, "name": name, "start_ns": 0, "dur_ns": dur, "step": 1, **more}

    slices = [
        of("kernel", "a", 1000, type="MatMul", core="AI_CORE"),
        of("kernel", "b", 3000, type="MatMul", core="AI_CORE"),
        of("kernel", "c", 4000, type="MatMul", core="MIX_AIC"),
        of("runtime", "AscendCL@aclrtMemcpy", 2000),
        of("runtime", "AscendCL@aclrtMemcpy", 6000),
        of("runtime", "cuLaunchKernelEx", 500, step=2),
    ]
    store = make_store(tmp_path, slices=slices)
    answer = op_statistics(store).plain()
    msgspec.convert(answer, list[OpStatistic])
    found = {row["core_type"]: (row["count"], row["total_us"], row["avg_us"], row["ratio_share"]) for row in answer}
    assert found == {"AI_CORE": (2, 4.0, 2.0, 0.5), "MIX_AIC": (1, 4.0, 4.0, 0.5)}
    calls = api_statistics(store).plain()
    msgspec.convert(calls, list[ApiStatistic])
    assert [(row["level"], row["name"], row["count"], row["variance_us2"]) for row in calls] == [
        ("acl", "aclrtMemcpy", 2, 4.0),
        ("driver", "cuLaunchKernelEx", 1, 0.0),
    ]
    assert [row["name"] for row in api_statistics(store, steps=[2]).plain()] == ["cuLaunchKernelEx"]


@pytest.mark.parametrize(
    ("call", "level", "name"),
    [
        ("Node@launch", "node", "launch"),
        ("Hccl@Launch_Ffts", "hccl", "Launch_Ffts"),
        ("Enqueue", "queue", "Enqueue"),
        ("Dequeue@Conv2D", "queue", "Conv2D"),
        ("hipLaunchKernel", "runtime", "hipLaunchKernel"),
        ("somebody@else", "other", "somebody@else"),
    ],
)
def test_levels_of_calls(call: str, level: str, name: str) -> None:
    assert level_and_name(call) == (level, name)


def test_a_run_without_the_data_has_no_answer(tmp_path: Path) -> None:
    store = make_store(tmp_path, slices=[{"kind": "operator", "name": "aten::mm", "start_ns": 0, "dur_ns": 1}])
    for question in (op_statistics, api_statistics):
        with pytest.raises(NoAnswerError):
            question(store)
