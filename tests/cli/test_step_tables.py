"""The tables of steps: what a reader adds up is there, and nothing that is always zero."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import Command
from support.traces import annotation, call, document, kernel, operator, write


@pytest.mark.parametrize("command", ["steps", "summary"])
def test_without_accelerator_the_time_around_leaf_operators_is_shown(
    stepscope: Command, tmp_path: Path, command: str
) -> None:
    outer, inner = operator("aten::linear", 1_000, 50_000), operator("aten::addmm", 11_000, 20_000)
    path = write(tmp_path / "trace.json", document([annotation("ProfilerStep#1", 0, 100_000), outer, inner]))
    result = stepscope(command, path, "--store", tmp_path / "store")
    assert result.code == 0, result.err
    assert "enclosing" in result.out
    (row,) = (line.split() for line in result.out.splitlines() if "100.000" in line.split())
    assert "20.000" in row  # the leaf
    assert "30.000" in row  # 50 us less the leaf
    # What is left of the 100 us: idle in the summary; in the steps free, of which those 30 us are a part.
    assert row[-1] == "50.000" if command == "summary" else row[-2:] == ["80.000", "30.000"]


@pytest.mark.parametrize("command", ["steps", "summary"])
def test_with_one_there_is_none(stepscope: Command, tmp_path: Path, command: str) -> None:
    launch, done = call("cudaLaunchKernel", 2_000, 1_000, 5), kernel("gemm", 4_000, 9_000, 5)
    events = [annotation("ProfilerStep#1", 0, 100_000), operator("aten::mm", 1_000, 3_000), launch, done]
    result = stepscope(command, write(tmp_path / "trace.json", document(events)), "--store", tmp_path / "store")
    assert result.code == 0, result.err
    assert "enclosing" not in result.out
