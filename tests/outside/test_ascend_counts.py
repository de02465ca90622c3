"""The Ascend captures and the NPU snapshot by strangers, against counts by json, csv, sqlite3 and pickle."""

from __future__ import annotations

import csv
import json
import pickle
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from outside.captures import opened, outside
from stepscope.run import Run

_TEXT, _DB = "msinsight/text_level0", "msinsight/db_level2"
_COMPUTE = {"AI_CORE", "MIX_AIV", "DSA_SQE"}
_COPIES = {"PCIE_DMA_SQE", "SDMA_SQE"}


def _ns(value: Any) -> int:
    """Nanoseconds of microseconds, rounded half to even, as the digits stand."""
    return int((Decimal(str(value)) * 1000).to_integral_value())


def _stored(run: Run, rank: int) -> dict[str, tuple[int, int]]:
    rows = run.sql(f"SELECT kind, count(*), sum(dur_ns) FROM slices WHERE rank = {rank} GROUP BY 1").rows()
    return {kind: (count, spent) for kind, count, spent in rows}


def _calls(run: Run, rank: int) -> list[tuple[Any, ...]]:
    query = f"SELECT kind, name, bytes, dtype, start_ns, step FROM collectives WHERE rank = {rank} ORDER BY start_ns"
    return run.sql(query).rows()


@pytest.mark.parametrize("rank", [0, 1])
def test_a_text_capture_of_level_0(rank: int) -> None:
    output = outside(_TEXT) / f"rank{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    events = json.loads((output / "trace_view.json").read_text(), parse_float=Decimal)
    threads = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    spent: dict[str, list[int]] = defaultdict(list)
    for event in (event for event in events if event["ph"] == "X"):
        task = (event.get("args") or {}).get("Task Type")
        spent["all"].append(0)
        if task in _COMPUTE:
            spent["kernel"].append(_ns(event["dur"]))
        elif task in _COPIES:
            spent["copy"].append(_ns(event["dur"]))
        elif task == "SDMA":
            spent["comm_task"].append(_ns(event["dur"]))
        elif "alg_type" in (event.get("args") or {}):
            spent["collective"].append(_ns(event["dur"]))
    run = opened(_TEXT)
    assert run.ranks == [0, 1]
    stored = _stored(run, rank)
    assert sum(count for count, _ in stored.values()) == len(spent.pop("all"))
    for kind, durations in spent.items():
        assert stored[kind][0] == len(durations), kind
        assert stored[kind][1] == pytest.approx(sum(durations), abs=len(durations)), kind  # the file has parts of a ns
    groups = [event for event in events if event["ph"] == "X" and "alg_type" in (event.get("args") or {})]
    assert {threads[event["pid"], event["tid"]] for event in groups} == {"Group 0 Communication"}
    assert _calls(run, rank) == [
        ("all_reduce", event["name"], event["args"]["count"] * 4, "FP32", _ns(event["ts"]), 50)
        for event in sorted(groups, key=lambda event: str(event["ts"]))
    ]
    with (output / "kernel_details.csv").open(newline="") as file:
        kernels = list(csv.DictReader(file))
    assert {row["Step Id"] for row in kernels} == {"50"}
    assert stored["kernel"][0] + stored["collective"][0] == len(kernels)
    assert run.sql(f"SELECT step FROM steps WHERE rank = {rank}").rows() == [(50,)]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_database_of_level_2(rank: int) -> None:
    name = f"ascend_pytorch_profiler_{rank}.db"
    path = outside(_DB) / f"rank{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / name
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:

        def one(query: str) -> tuple[Any, ...]:
            row: tuple[Any, ...] = database.execute(query).fetchone()
            return row

        spent = "count(*), sum(endNs - startNs)"
        compute = one(f"SELECT {spent} FROM TASK WHERE globalTaskId IN (SELECT globalTaskId FROM COMPUTE_TASK_INFO)")
        copies = one(
            f"SELECT {spent} FROM TASK JOIN STRING_IDS ON id = taskType WHERE value = 'MEMCPY_ASYNC' "
            "AND globalTaskId NOT IN (SELECT globalTaskId FROM COMPUTE_TASK_INFO)"
        )
        calls = one(f"SELECT {spent} FROM COMMUNICATION_OP")
        hosts = one("SELECT count(*) FROM PYTORCH_API")[0] + one("SELECT count(*) FROM CANN_API")[0]
        everything = hosts + one("SELECT count(*) FROM TASK")[0] + calls[0]
        ops = database.execute(
            "SELECT n.value, count * 4, startNs FROM COMMUNICATION_OP JOIN STRING_IDS AS n ON n.id = opName ORDER BY 3"
        ).fetchall()
        steps = database.execute("SELECT id, startNs, endNs FROM STEP_TIME").fetchall()
    run = opened(_DB)
    stored = _stored(run, rank)
    assert (stored["kernel"], stored["copy"], stored["collective"]) == (compute, copies, calls)
    assert sum(count for count, _ in stored.values()) == everything
    assert _calls(run, rank) == [("all_reduce", name, size, "FP32", start, 50) for name, size, start in ops]
    assert run.sql(f"SELECT step, host_start_ns, host_end_ns FROM steps WHERE rank = {rank}").rows() == steps


class _Plain(pickle.Unpickler):
    """The snapshot holds plain data only."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def test_an_npu_snapshot() -> None:
    path: Path = outside("msinsight/npu_snapshot_expandable.pkl")
    with path.open("rb") as file:
        snapshot = _Plain(file).load()
    run = opened("msinsight/npu_snapshot_expandable.pkl")
    segments = snapshot["segments"]
    stored = run.sql("SELECT count(*), sum(bytes) FROM segments").row(0)
    assert stored == (len(segments), sum(segment["total_size"] for segment in segments))
    entries = [entry for device in snapshot.get("device_traces", []) for entry in device]
    allocations = Counter(entry["action"] for entry in entries)["alloc"]
    recorded = run.sql("SELECT count(*) FROM allocations WHERE alloc_seq IS NOT NULL").item()
    assert recorded == allocations
