"""What a terminal shows of a job of many ranks: ranges, the first ranks, names and commands to copy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from stepscope.report.rank_lines import MOST_RANKS
from stepscope.simulate.scenario import FaultEntry, Plan
from stepscope.simulate.writing import simulate
from support.commands import Command
from support.scenarios import small

_RANKS = 12


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve data-parallel ranks; rank 5 computes slowly."""
    out = tmp_path_factory.mktemp("large_jobs") / "my job"
    slow = FaultEntry(kind="slow_rank", cause="compute", ranks=(5,), strength=0.3)
    simulate(small(plan=Plan(dp=_RANKS), faults=(slow,), steps=3), out)
    return out


@pytest.mark.parametrize("command", ["steps", "launches", "operators", "flops", "critical-path"])
def test_sentences_are_those_of_the_first_ranks_and_the_others_are_counted(
    job: Path, command: str, stepscope: Command
) -> None:
    shown = stepscope(command, job).out
    assert {int(rank) for rank in re.findall(r"^rank (\d+)\b", shown, re.MULTILINE)} == set(range(MOST_RANKS))
    assert f"… {_RANKS - MOST_RANKS} more ranks; choose them with --rank" in shown
    assert "more ranks" not in stepscope(command, job, "--rank", "8-11").out


def test_members_of_a_group_are_a_range(job: Path, stepscope: Command) -> None:
    shown = stepscope("communication", job).out
    assert re.search(rf"\b0-{_RANKS - 1}\b", shown)
    assert "0, 1, 2" not in shown


def test_names_of_kernels_are_written_as_operators_writes_them(job: Path, stepscope: Command) -> None:
    for command in ("communication", "collectives", "critical-path"):
        shown = stepscope(command, job).out
        assert "ncclDevKernel_AllReduce_Sum_f32_RING_LL " in shown
        assert "ncclDevKernelArgs" not in shown
    document = json.loads(stepscope("communication", job, "--json").out)
    assert any("(ncclDevKernelArgsStorage<4096ul>)" in row["name"] for row in document["data"]["operations"])


def test_a_device_that_is_never_idle_is_idle_for_no_reason(job: Path, stepscope: Command) -> None:
    document = json.loads(stepscope("launches", job, "--json").out)
    never = [row["rank"] for row in document["data"]["ranks"] if row["idle_share"] < 0.0005]
    shown = stepscope("launches", job).out
    for rank in never[:MOST_RANKS]:
        (line,) = re.findall(rf"^rank {rank}: .*$", shown, re.MULTILINE)
        assert line.endswith("device idle 0.0% of the time")
    assert never


def test_what_to_ask_next_can_be_copied(job: Path, stepscope: Command) -> None:
    shown = stepscope("diagnose", job).out
    assert f"next: stepscope summary '{job}' --rank 5, stepscope steps '{job}' --rank 5" in shown
    window = json.loads(stepscope("diagnose", job, "--json").out)["data"]["findings"][0]["next_commands"]
    assert window == ["summary --rank 5", "steps --rank 5"]
