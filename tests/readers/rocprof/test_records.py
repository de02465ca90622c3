"""rocprofv3 on AMD GPUs, both formats, by hand after its documentation: the same run out of each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.errors import UnreadableInputError
from support.reading import Reading, read

_GEMM = "Cijk_Ailk_Bljk_SB_MT64x64x16_MI16x16x16_SE"
_NCCL = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"
_START = 172_352_210_000_000

_CSV = {
    "kernel_trace": (
        '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
        '"Start_Timestamp","End_Timestamp"\n'
        f'"KERNEL_DISPATCH","Agent 2",1,3,70,1,33,"{_GEMM}",11,{_START + 5_000},{_START + 9_000}\n'
        f'"KERNEL_DISPATCH","Agent 2",2,4,70,2,34,"{_NCCL}",12,{_START + 9_500},{_START + 9_900}\n'
    ),
    "memory_copy_trace": (
        '"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        f'"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE","Agent 0","Agent 2",10,{_START + 3_000},{_START + 4_000}\n'
    ),
    "hip_api_trace": (
        '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        f'"HIP_RUNTIME_API","hipMemcpyAsync",70,70,10,{_START + 1_000},{_START + 1_500}\n'
        f'"HIP_RUNTIME_API","hipLaunchKernel",70,70,11,{_START + 2_000},{_START + 2_100}\n'
        f'"HIP_RUNTIME_API","hipLaunchKernel",70,70,12,{_START + 2_200},{_START + 2_300}\n'
    ),
    "marker_api_trace": (
        '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        f'"MARKER_CORE_API","iteration 4",70,70,9,{_START},{_START + 3_000}\n'
    ),
}


def write_tables(folder: Path) -> Path:
    folder.mkdir()
    for table, text in _CSV.items():
        (folder / f"70_{table}.csv").write_text(text)
    return folder


def _record(kind: int, operation: int, correlation: int, start: int, end: int, **more: Any) -> dict[str, Any]:
    times = {"start_timestamp": _START + start, "end_timestamp": _START + end, "thread_id": 70}
    return {"kind": kind, "operation": operation, "correlation_id": {"internal": correlation}, **times, **more}


def write_document(path: Path) -> Path:
    kinds = [
        {"kind": "NONE", "operations": []},
        {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipMemcpyAsync"]},
        {"kind": "KERNEL_DISPATCH", "operations": ["KERNEL_DISPATCH_COMPLETE"]},
        {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
        {"kind": "MARKER_CORE_API", "operations": ["roctxRangePushA"]},
    ]
    gpu, cpu = {"handle": 102}, {"handle": 100}

    def dispatch(kernel: int, stream: int) -> dict[str, Any]:
        info = {"agent_id": gpu, "queue_id": {"handle": 1}, "kernel_id": kernel, "dispatch_id": kernel}
        return {"dispatch_info": info, "stream_id": {"handle": stream}}

    tool = {
        "metadata": {"pid": 70, "node": {"hostname": "mi300-node"}},
        "agents": [
            {"id": cpu, "type": 1, "name": "AMD EPYC", "logical_node_type_id": 0},
            {"id": gpu, "type": 2, "product_name": "AMD Instinct MI300X", "logical_node_type_id": 2, "cu_count": 304},
        ],
        "strings": {"buffer_records": kinds, "marker_api": [{"key": 9, "value": "iteration 4"}]},
        "kernel_symbols": [
            {"kernel_id": 33, "formatted_kernel_name": _GEMM},
            {"kernel_id": 34, "formatted_kernel_name": _NCCL},
        ],
        "buffer_records": {
            "kernel_dispatch": [
                _record(2, 0, 11, 5_000, 9_000, **dispatch(33, 3)),
                _record(2, 0, 12, 9_500, 9_900, **dispatch(34, 4)),
            ],
            "memory_copy": [_record(3, 1, 10, 3_000, 4_000, dst_agent_id=gpu, src_agent_id=cpu, bytes=4096)],
            "hip_api": [
                _record(1, 1, 10, 1_000, 1_500),
                _record(1, 0, 11, 2_000, 2_100),
                _record(1, 0, 12, 2_200, 2_300),
            ],
            "marker_api": [_record(4, 0, 9, 0, 3_000)],
        },
    }
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))
    return path


def _check(reading: Reading) -> None:
    kernel = reading.named(_GEMM)
    assert (kernel["kind"], kernel["start_ns"], kernel["dur_ns"]) == ("kernel", _START + 5_000, 4_000)
    assert (kernel["step"], kernel["stream"]) == (4, 3)
    assert (reading.named("Memcpy HtoD")["kind"], reading.named("Memcpy HtoD")["step"]) == ("copy", 4)
    assert reading.named("iteration 4")["kind"] == "step"
    calls = {row["slice"]: row["name"] for row in reading.rows("slices") if row["kind"] == "runtime"}
    launched = [(calls[row["from_slice"]], row["to_slice"]) for row in reading.rows("links")]
    assert sorted(name for name, _ in launched) == ["hipLaunchKernel", "hipLaunchKernel", "hipMemcpyAsync"]
    (collective,) = reading.rows("collectives")
    assert (collective["name"], collective["step"]) == (_NCCL, 4)
    (step,) = reading.rows("steps")
    assert (step["step"], step["device_start_ns"], step["device_end_ns"]) == (4, _START + 3_000, _START + 9_900)
    (rank,) = reading.rows("ranks")
    assert rank["device_kind"] == "gpu"


def test_tables_are_read_as_one_rank(tmp_path: Path) -> None:
    _check(read(write_tables(tmp_path / "host")))
    _check(read(tmp_path / "host" / "70_kernel_trace.csv"))


def test_a_document_is_read_with_its_device(tmp_path: Path) -> None:
    reading = read(write_document(tmp_path / "70_results.json"))
    _check(reading)
    (rank,) = reading.rows("ranks")
    assert (rank["device_name"], rank["host"], rank["compute_units"]) == ("AMD Instinct MI300X", "mi300-node", 304)
    assert reading.named("Memcpy HtoD")["bytes"] == 4096


def test_a_table_that_was_cut_gives_no_half_number(tmp_path: Path) -> None:
    folder = write_tables(tmp_path / "host")
    path = folder / "70_hip_api_trace.csv"
    path.write_text(path.read_text()[:-4])
    reading = read(folder)
    assert reading.named("hipLaunchKernel")["start_ns"] == _START + 2_000
    assert reading.codes["last_line_cut"] == 1


@pytest.mark.parametrize("odd", ["[]", "{}", "null", '"x"', "[[0, 1]]", "9223372036854775808"])
def test_odd_values_in_a_document_end_in_no_traceback(odd: str, tmp_path: Path) -> None:
    text = write_document(tmp_path / "whole_results.json").read_text()
    for field in ("key", "kernel_id", "agent_id", "internal", "handle", "operation", "hostname"):
        path = tmp_path / "70_results.json"
        path.write_text(re.sub(rf'("{field}": )([^,{{}}\[\]]+|{{[^{{}}]*}})', lambda match: match[1] + odd, text))
        assert read(path).slices


def test_processes_of_one_directory_are_ranks(tmp_path: Path) -> None:
    folder = write_tables(tmp_path / "host")
    for table, text in _CSV.items():
        (folder / f"71_{table}.csv").write_text(text)
    run = stepscope.load(folder, progress=False)
    assert run.ranks == [0, 1]
    assert run.steps()["computing_us"].to_list() == [4.0, 4.0]


@pytest.mark.parametrize(
    "text",
    ['{"rocprofiler-sdk-tool": []}', '{"rocprofiler-sdk-tool": [{"buffer_records": 7}]}', '{"rocprofiler-sdk-tool": ['],
)
def test_documents_without_records_get_a_reason(text: str, tmp_path: Path) -> None:
    (tmp_path / "a_results.json").write_text(text)
    with pytest.raises(UnreadableInputError):
        stepscope.load(tmp_path / "a_results.json", progress=False)
