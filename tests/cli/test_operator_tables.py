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
    assert "kernels take 10.000 ms on the device; the longest, gemm, accounts for 60.0%" in shown.out


@pytest.mark.parametrize("by", ["module", "operator"])
def test_kernels_of_which_no_module_and_no_operator_is_known_are_one_row(
    by: str, stepscope: Command, tmp_path: Path
) -> None:
    events = [call("cudaLaunchKernel", 0, 1_000, 1), kernel("gemm", 2_000, 6_000_000, 1)]
    trace = write(tmp_path / "trace.json", document(events))
    shown = stepscope("operators", trace, "--by", by, "--store", tmp_path / "store")
    assert shown.code == 0
    assert "kernels take 6.000 ms on the device; the capture does not show what they belong to" in shown.out
    assert ("with_modules=True" if by == "module" else "PyTorch activities with CPU") in shown.err


def test_escape_bytes_in_names_do_not_reach_the_terminal(stepscope: Command, tmp_path: Path) -> None:
    events = [call("cudaLaunchKernel", 0, 1_000, 1), kernel("gemm\x1b[2J\x07", 2_000, 6_000_000, 1)]
    trace = write(tmp_path / "trace\x1b[31m.json", document(events))
    shown = stepscope("operators", trace, "--store", tmp_path / "store")
    assert shown.code == 0
    assert "gemm␛[2J" in shown.out
    assert not [letter for letter in shown.out + shown.err if ord(letter) < 32 and letter != "\n"]
