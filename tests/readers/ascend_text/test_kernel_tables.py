"""Tables of kernels: what they add to the slices, in all their versions."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from readers.ascend_builder import (
    CALLS,
    KERNELS,
    capture_events,
    full_capture,
)
from readers.ascend_text.small_captures import read


def test_kernel_rows_fill_the_slices_and_their_counters(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture())
    kernel = found.slice("MatMul")
    assert (kernel["type"], kernel["core"]) == ("MatMulV2", "AI_CORE")
    assert (kernel["input_shapes"], kernel["output_shapes"]) == ("2,3;3,4", "2,4")
    assert (kernel["dtypes"], kernel["formats"]) == ("FLOAT;FLOAT", "ND;ND->ND")
    metrics = dict(found["pmu"].filter(pl.col("slice") == kernel["slice"]).select("metric", "value").rows())
    assert metrics == {
        "OP State: dynamic": 1.0,
        "Wait Time(us)": 0.0,
        "Block Dim": 24.0,
        "aicore_time(us)": 18.5,
        "aic_mac_ratio": 0.75,
    }
    # The vendor cut the start of the call off by a nanosecond.
    assert found.slice("hcom_allReduce__586_3_1")["core"] == "HCCL"
    assert not found.count("ascend_kernel_unmatched")


def test_kernel_rows_without_their_slice_are_counted(tmp_path: Path) -> None:
    files = full_capture() | {
        "kernel_details.csv": KERNELS + "7,1,99,2,Ghost,Add,,AI_CORE,9000.0\t,1,0,1" + "," * 9 + "\r\n"
    }
    assert read(tmp_path, files).count("ascend_kernel_unmatched") == 1


def test_kernel_rows_with_a_framework_name_before_theirs_match_by_stream_and_task(tmp_path: Path) -> None:
    files = full_capture() | {"kernel_details.csv": KERNELS.replace(",MatMul,", ",Default/net/MatMul-op1/MatMul,")}
    found = read(tmp_path, files)
    assert found.slice("MatMul")["type"] == "MatMulV2"
    assert not found.count("ascend_kernel_unmatched")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Step Id", "Step ID"),
        ("Block Dim", "Block Num"),
        ("Step Id,Model ID", "Step Id,Device_id,Model ID"),
        ("Duration(us)", "Duration(us),Added Later"),
        ("\r\n", "\n"),
    ],
)
def test_headers_of_all_versions_are_understood(tmp_path: Path, old: str, new: str) -> None:
    text = KERNELS
    if new.startswith("Step Id,"):
        text = text.replace("\r\n7,", "\r\n7,0,")
    if "Added" in new:
        text = re.sub(r"(\.\d+\t,[\d.]+),", r"\1,5,", text)
    found = read(tmp_path, full_capture() | {"kernel_details.csv": "\ufeff" + text.replace(old, new)})
    assert (found.slice("MatMul")["type"], found.slice("MatMul")["dur_ns"]) == ("MatMulV2", 20000)
    metrics = dict(
        found["pmu"].filter(pl.col("slice") == found.slice("MatMul")["slice"]).select("metric", "value").rows()
    )
    assert metrics["Block Dim"] == 24.0
    assert ("Added Later" in metrics) == ("Added" in new)


def test_level_0_kernels_have_no_type(tmp_path: Path) -> None:
    rows = (
        "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\r\n"
        "7,MatMul,N/A,N/A,1200.001\t,20.001,0,0\r\n"
    )
    found = read(tmp_path, {"trace_view.json": capture_events(), "kernel_details.csv": rows})
    kernel = found.slice("MatMul")
    assert (kernel["type"], kernel["core"], kernel["kind"]) == (None, "AI_CORE", "kernel")


def test_without_a_timeline_the_kernels_make_one(tmp_path: Path) -> None:
    found = read(tmp_path, {"kernel_details.csv": KERNELS, "communication.json": CALLS})
    assert found.rows("slices", "name", "start_ns", "dur_ns") == [
        ("MatMul", 1200001, 20001),
        ("Cast", 1225000, 10002),
        ("hcom_allReduce__586_3_1", 1299999, 100000),
    ]
    assert [str(kind) for (kind,) in found.rows("slices", "kind")] == ["kernel", "kernel", "collective"]
    assert found.rows("collectives", "name", "transit_ns") == [("hcom_allReduce__586_3_1", 80000)]
    assert found.count("ascend_timeline_from_kernels") == 3
    assert found.count("ascend_file_missing", switch="activities=[ProfilerActivity.NPU]") == 2


def test_l2_cache_and_ai_cpu_times_join_by_stream_and_task(tmp_path: Path) -> None:
    cache = "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,1,N/A,0.25,MatMul\n2,2,0.5,0.75,Cast\n2,77,1,1,Ghost\n"
    cpu = "Device_id,Timestamp(us),Node,Compute_time(us),Total_time(us),Stream ID,Task ID\n0,1225.0,Cast,3.5,4,2,2\n"
    found = read(tmp_path, full_capture() | {"l2_cache.csv": cache, "data_preprocess.csv": cpu})
    values = {
        (name, metric): value
        for name, metric, value in found["pmu"]
        .join(found["slices"].select("slice", "name"), on="slice")
        .select("name", "metric", "value")
        .rows()
    }
    assert values["MatMul", "L2 Victim Rate"] == 0.25
    assert (values["Cast", "L2 Hit Rate"], values["Cast", "L2 Victim Rate"]) == (0.5, 0.75)
    assert (values["Cast", "AI CPU Compute_time(us)"], values["Cast", "AI CPU Total_time(us)"]) == (3.5, 4.0)
    assert ("MatMul", "L2 Hit Rate") not in values
    assert found.count("ascend_task_unmatched") == 1
