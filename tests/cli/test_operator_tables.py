"""The sentence above the table of operators is about all of them, however many rows are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import Command
from support.traces import call, document, kernel, write


@pytest.mark.parametrize("rows", [(), ("--limit", 1)])
def test_the_total_is_that_of_all_kernels(rows: tuple[object, ...], stepscope: Command, tmp_path: Path) -> None:
    events = []
    for place, (name, dur_ns) in enumerate((("gemm", 6_000_000), ("add", 3_000_000), ("copy_kernel", 1_000_000))):
        start = place * 10_000_000
        events += [call("cudaLaunchKernel", start, 1_000, place), kernel(name, start + 2_000, dur_ns, place)]
    trace = write(tmp_path / "trace.json", document(events))
    shown = stepscope("operators", trace, *rows, "--store", tmp_path / "store")
    assert "kernels take 10.000 ms on the device; the longest, gemm, 60.0 % of it" in shown.out
