"""The tables of steps: what a reader adds up is there, and nothing that is always zero."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import Command
from support.traces import annotation, document, operator, write


@pytest.mark.parametrize("command", ["steps", "summary"])
def test_without_accelerator_the_time_around_leaf_operators_is_computing(
    stepscope: Command, tmp_path: Path, command: str
) -> None:
    outer, inner = operator("aten::linear", 1_000, 50_000), operator("aten::addmm", 11_000, 20_000)
    path = write(tmp_path / "trace.json", document([annotation("ProfilerStep#1", 0, 100_000), outer, inner]))
    result = stepscope(command, path, "--store", tmp_path / "store")
    assert result.code == 0, result.err
    (row,) = (line.split() for line in result.out.splitlines() if "100.000" in line.split())
    assert row[-4:] == ["50.000", "0.000", "0.000", "50.000"]  # of 100 us: computing in and around the leaf, idle
