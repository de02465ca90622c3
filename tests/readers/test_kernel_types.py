"""The type of device work in a PyTorch trace, which states none."""

from __future__ import annotations

from pathlib import Path

from stepscope import load
from support.reading import read
from support.traces import call, document, kernel, operator, write

FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>(int, int)"


def test_a_kernel_has_the_short_name_as_its_type_and_host_slices_have_none(tmp_path: Path) -> None:
    events = [
        operator("aten::fill_", 0, 1_000),
        call("cudaLaunchKernel", 100, 10, 1),
        kernel(FILL, 2_000, 100, 1),
        kernel(FILL, 3_000, 100, 2),
        kernel("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn", 4_000, 100, 3),
    ]
    rows = read(write(tmp_path / "trace.json", document(events))).rows("slices")
    types = [row["type"] for row in sorted(rows, key=lambda row: row["start_ns"])]
    assert types == [None, None, *["vectorized_elementwise_kernel"] * 2, "ampere_bf16_s16816gemm_bf16"]


def test_sql_can_ask_for_the_types_of_a_real_capture(shared_data: Path) -> None:
    run = load(shared_data / "kineto" / "gpt_bf16.json.gz", progress=False)
    without = run.sql("SELECT count(*) FROM slices WHERE kind IN ('kernel', 'copy') AND type IS NULL").rows()
    assert without == [(0,)]
    assert run.sql("SELECT count(*) FROM slices WHERE kind = 'operator' AND type IS NOT NULL").rows() == [(0,)]
