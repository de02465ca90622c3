"""Choices of ranks at the command line mean what the page's addresses mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepscope.errors import UsageError
from stepscope.questions.rank_choice import chosen_ranks, pieces_of
from stepscope.run import Run, load
from stepscope.simulate.scenario import FaultEntry, Plan
from stepscope.simulate.writing import simulate
from support.commands import Command
from support.scenarios import small

_CASES = Path(__file__).parents[2] / "web/src/router/scope.cases.json"


@pytest.fixture(scope="module")
def cases() -> Any:
    if not _CASES.exists():
        pytest.skip("the page's sources are not here")
    return json.loads(_CASES.read_text("utf-8"))


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight ranks on two hosts, dp 0..3 over tp 0..1; rank 5 computes slowly."""
    out = tmp_path_factory.mktemp("rank_choice") / "job"
    slow = FaultEntry(kind="slow_rank", cause="compute", ranks=(5,), strength=0.3)
    simulate(small(plan=Plan(dp=4, tp=2), faults=(slow,)), out, detail="steps")
    return out


@pytest.fixture(scope="module")
def run(job: Path) -> Run:
    return load(job, progress=False)


def test_choices_mean_what_they_mean_on_the_page(run: Run, cases: Any) -> None:
    assert {text: chosen_ranks(run.store, [text]) for text in cases["meant"]} == cases["meant"]


def test_a_choice_that_means_no_rank_says_what_would(run: Run, cases: Any) -> None:
    for text in cases["none"]:
        with pytest.raises(UsageError, match=r"Available: 0-7"):
            chosen_ranks(run.store, [text])
    with pytest.raises(UsageError, match=r"0-7, dp:0…3, tp:0…1, host:host000, host:host001\.$"):
        chosen_ranks(run.store, ["dp:4"])


def test_what_no_run_could_know_is_refused_before_one_is_read(cases: Any, stepscope: Command) -> None:
    for text in cases["unreadable"]:
        with pytest.raises(UsageError, match="does not understand"):
            pieces_of([text])
    outcome = stepscope("steps", "no such directory", "--rank", "1-")
    assert (outcome.code, "“1-”" in outcome.err) == (2, True)


def test_the_slowest_come_first_and_are_those_that_others_wait_for(run: Run) -> None:
    rows = run.ask("ranks", sort="delay").data.ranks
    assert chosen_ranks(run.store, ["slow:1"]) == [5]
    assert chosen_ranks(run.store, ["slow:8"]) == [row.rank for row in rows]


def test_several_options_and_lists_are_one_choice(job: Path, stepscope: Command) -> None:
    outcome = stepscope("steps", job, "--rank", "0-1,6", "--rank", "5", "--json")
    assert {row["rank"] for row in json.loads(outcome.out)["data"]} == {0, 1, 5, 6}
