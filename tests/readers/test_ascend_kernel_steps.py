"""Steps of Ascend captures that only the table of kernels names."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from readers.ascend_builder import capture_events, claimed, device_layers, full_capture, read_directory, write_rank
from stepscope.analysis.steps import steps

_HEADER = "{column},Name,Type,Accelerator Core,Start Time(us),Duration(us)\r\n"
# Step 4 begins on a second stream while the last kernel of step 3 still runs; one kernel lies outside every step.
_ROWS = (
    "3,MatMul,MatMulV2,AI_CORE,1000.5\t,10\r\n"
    "3,hcom_allReduce__586_0_1,hcom_allReduce_,HCCL,1010.5\t,20\r\n"
    "3,Mul,Mul,AI_VECTOR_CORE,1040\t,30.25\r\n"
    "4,Add,Add,AI_VECTOR_CORE,1060\t,5\r\n"
    ",Cast,Cast,AI_VECTOR_CORE,1071\t,2\r\n"
    "4,Sub,Sub,AI_VECTOR_CORE,1080\t,20\r\n"
    "12,Sub,Sub,AI_VECTOR_CORE,2000\t,1\r\n"
)


@pytest.mark.parametrize("column", ["Step Id", "Step ID"])
def test_a_table_alone_tells_its_steps(tmp_path: Path, column: str) -> None:
    directory = write_rank(tmp_path, {"kernel_details.csv": _HEADER.format(column=column) + _ROWS})
    found = read_directory(directory, tmp_path / "store")
    assert found.rows("steps", "step", "host_start_ns", "host_end_ns", "device_start_ns", "device_end_ns") == [
        (3, 1_000_500, 1_070_250, 1_000_500, 1_070_250),
        (4, 1_060_000, 1_100_000, 1_060_000, 1_100_000),
        (12, 2_000_000, 2_001_000, 2_000_000, 2_001_000),
    ]
    assert {str(name) for (name,) in found.rows("steps", "marks_from")} == {"kernel_table"}
    assert sorted((start, step) for start, step in found.rows("slices", "start_ns", "step")) == [
        (1_000_500, 3),
        (1_010_500, 3),
        (1_040_000, 3),
        (1_060_000, 4),
        (1_071_000, None),
        (1_080_000, 4),
        (2_000_000, 12),
    ]
    assert found.count("ascend_steps_from_kernels") == 3
    assert found.count("no_step_marks") == 0


def test_the_parts_of_such_steps_add_up(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, {"kernel_details.csv": _HEADER.format(column="Step Id") + _ROWS})
    rows = steps(stepscope.load(directory, progress=False, store=tmp_path / "runs").store).data
    parts = ("step", "duration_us", "computing_us", "communication_us", "exposed_communication_us", "free_us")
    assert rows.select(parts).rows() == [
        (3, 69.75, 40.25, 20.0, 20.0, 9.5),
        (4, 40.0, 25.0, 0.0, 0.0, 15.0),
        (12, 1.0, 1.0, 0.0, 0.0, 0.0),
    ]


def test_marks_of_the_timeline_come_before_the_table(tmp_path: Path) -> None:
    files = full_capture()
    files["kernel_details.csv"] = files["kernel_details.csv"].replace("\r\n7,", "\r\n8,")
    found = read_directory(write_rank(tmp_path, files), tmp_path / "store")
    assert [step for (step,) in found.rows("steps", "step")] == [7]
    assert found.count("ascend_steps_from_kernels") == 0


def test_a_timeline_without_marks_takes_the_steps_of_the_table(tmp_path: Path) -> None:
    assert any(event.get("name") == "ProfilerStep#7" for event in capture_events())
    files = full_capture() | {"trace_view.json": device_layers()}
    found = read_directory(write_rank(tmp_path, files), tmp_path / "store")
    # The table names MatMul and Cast; the call that it also names is not on this timeline.
    assert found.rows("steps", "step", "host_start_ns", "host_end_ns") == [(7, 1_200_001, 1_235_002)]


def test_numbers_that_no_step_has_are_none(tmp_path: Path) -> None:
    rows = _HEADER.format(column="Step Id") + "-1,Mul,Mul,AI_CORE,1000\t,10\r\nx,Mul,Mul,AI_CORE,1020\t,10\r\n"
    directory = write_rank(tmp_path, {"kernel_details.csv": rows})
    assert claimed(directory)
    found = read_directory(directory, tmp_path / "store")
    assert found.rows("steps", "step", "marks_from") == [(0, "window")]
    assert found.count("no_step_marks") == 1
