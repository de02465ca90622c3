"""A tiny export of Nsight Systems, made by hand: names by id, NVTX texts, NCCL, steps, launches."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import stepscope
from stepscope.errors import UnreadableInputError
from support.reading import read

_EPOCH, _CLOCK = 1_779_630_014_000_000_000, 5_000
_PROCESS = (77 << 24) | (1 << 48)
_THREAD = _PROCESS | 9

_TABLES = """
CREATE TABLE StringIds (id INTEGER, value TEXT);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, systemClockNs INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER);
"""


def write_export(path: Path) -> Path:
    """Two kernels, their launches, an iteration and an operator."""
    names = {
        1: "void gemm<float>(float*)",
        2: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)",
        3: "cudaLaunchKernel_v7000",
    }
    names[4] = "iteration 12"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(_TABLES)
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", names.items())
        database.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, ?)", (_EPOCH, _CLOCK))
        database.execute("INSERT INTO TARGET_INFO_GPU VALUES (3, 'NVIDIA H100', 80000000000, 132)")
        database.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 3, ?, ?, ?, ?, ?)",
            [(7_000, 7_500, 7, 1, _PROCESS, 1, 1), (7_600, 7_900, 20, 2, _PROCESS, 2, 2)],
        )
        database.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 3)",
            [(6_100, 6_150, _THREAD, 1), (6_300, 6_350, _THREAD, 2)],
        )
        database.executemany(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)",
            [
                (6_000, 6_900, 59, None, _THREAD, 4),
                (6_050, 6_200, 59, "aten::mm, op_id = 5, sizes = [[2, 3], [3, 4]]", _THREAD, None),
                (6_060, None, 34, "here", _THREAD, None),
            ],
        )
        database.commit()
    return path


def test_an_export_is_read_with_its_names_steps_and_launches(tmp_path: Path) -> None:
    reading = read(write_export(tmp_path / "report.sqlite"))
    base = _EPOCH - _CLOCK
    kernel = reading.named("void gemm<float>(float*)")
    assert (kernel["kind"], kernel["operator"], kernel["step"], kernel["stream"]) == ("kernel", "aten::mm", 12, 7)
    assert (kernel["start_ns"], kernel["dur_ns"]) == (7_000 + base, 500)
    operator = reading.named("aten::mm")
    assert (operator["kind"], operator["input_shapes"]) == ("operator", "[[2, 3], [3, 4]]")
    assert reading.named("here")["kind"] == "mark"
    assert reading.named("iteration 12")["kind"] == "step"
    assert {row["kind"] for row in reading.rows("slices") if row["name"] == "cudaLaunchKernel"} == {"runtime"}
    (call,) = reading.rows("collectives")
    assert (call["kind"], call["bytes"], call["step"]) == ("all_reduce", None, 12)
    (step,) = reading.rows("steps")
    assert (step["step"], step["host_start_ns"], step["device_end_ns"]) == (12, 6_000 + base, 7_900 + base)
    (rank,) = reading.rows("ranks")
    assert (rank["device_name"], rank["device_index"], rank["framework"]) == ("NVIDIA H100", 3, "pytorch")


def test_an_export_without_any_event_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(_TABLES)
    with pytest.raises(UnreadableInputError):
        stepscope.load(path, progress=False)


def test_graphs_that_were_recorded_as_a_whole_are_work_of_the_device(tmp_path: Path) -> None:
    path = write_export(tmp_path / "report.sqlite")
    columns = (
        "start, end, deviceId, contextId, greenContextId, streamId, correlationId, globalPid, graphId, graphExecId"
    )
    other = (78 << 24) | (1 << 48)  # a second process, of which nothing but graphs was recorded
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE ({columns})")
        database.execute("INSERT INTO StringIds VALUES (5, 'cudaGraphLaunch_v10000')")
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (6400, 6450, ?, 3, 5)", (_THREAD,))
        database.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (?, ?, ?, 1, 0, 7, ?, ?, 42, 1)",
            [(8_000, 9_250, 3, 3, _PROCESS), (8_100, 9_100, 4, 3, other)],
        )
        database.commit()
    run = stepscope.load(path, progress=False)
    graphs = run.sql("SELECT rank, kind, dur_ns, step, operator FROM slices WHERE name = 'CUDA graph 42' ORDER BY rank")
    assert graphs.rows() == [(0, "kernel", 1_250, 12, None), (1, "kernel", 1_000, 0, None)]
    # Kernels 500 ns, communication 300, the graph 1,250.
    (step,) = run.steps().filter(rank=0).rows(named=True)
    assert (step["computing_us"], step["exposed_communication_us"]) == (1.75, 0.3)
    assert sum(note.count for note in run.notes if note.code == "graphs_as_a_whole") == 2
