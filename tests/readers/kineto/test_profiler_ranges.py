"""Hardware counters that CUPTI measured over ranges, in a trace without kernels."""

from __future__ import annotations

from pathlib import Path

from support.reading import read
from support.traces import complete, document, operator, write

_A100 = {"id": 0, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 42505273344, "numSms": 108}


def test_counters_of_ranges_are_kept_and_the_device_stays_a_gpu(tmp_path: Path) -> None:
    counted = {
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 4096.0,
        "kineto__cuda_core_flops": 8192,
        "x": "n/a",
    }
    events = [
        operator("aten::mm", 1_000, 10_000),
        complete("cuda_profiler_range", "__kernel_0_sgemm", 2_000, 500, pid=0, tid=7, **counted),
        complete("cuda_profiler_range", "__kernel_1_relu", 3_000, 500, pid=0, tid=7, kineto__cuda_core_flops=16),
    ]
    reading = read(write(tmp_path / "trace.json", document(events, deviceProperties=[_A100])))
    found = [(row["slice"], row["metric"], row["value"]) for row in reading.rows("pmu")]
    assert found == [
        (1, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 4096.0),
        (1, "kineto__cuda_core_flops", 8192.0),
        (2, "kineto__cuda_core_flops", 16.0),
    ]
    (rank,) = reading.rows("ranks")
    assert (rank["device_kind"], rank["device_name"]) == ("gpu", "NVIDIA A100-SXM4-40GB")
