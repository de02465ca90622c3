"""Steps that a run does not have: every question says so, and none is left out in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.stores import make_store
from stepscope.errors import NoAnswerError, UsageError
from stepscope.questions import QUESTIONS
from stepscope.store.run_store import RunStore


def _mark(rank: int, number: int) -> dict[str, Any]:
    return {"rank": rank, "step": number, "host_start_ns": number * 100, "host_end_ns": number * 100 + 100}


def _kernel(rank: int, number: int) -> dict[str, Any]:
    where = {"rank": rank, "slice": number, "kind": "kernel", "name": "k", "step": number}
    return {**where, "start_ns": number * 100 + 10, "dur_ns": 50}


def _store(directory: Path) -> RunStore:
    """Rank 0 has steps 1 and 2, rank 1 has 2 and 3, and a slice of step 5 that nothing marks."""
    there = [(0, 1), (0, 2), (1, 2), (1, 3)]
    return make_store(
        directory,
        steps=[_mark(*one) for one in there],
        slices=[_kernel(*one) for one in (*there, (1, 5))],
        tracks=[{"rank": rank, "track": 0, "kind": "stream"} for rank in (0, 1)],
    )


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_unknown_step_is_the_reason_that_is_given(tmp_path: Path, question: str) -> None:
    store = _store(tmp_path)
    for asked, named in (([7], "7"), ([1, 7], "7"), ([9, 2, 7, 9], "9, 7")):
        with pytest.raises(NoAnswerError) as refused:
            QUESTIONS[question].ask(store, steps=asked)
        assert refused.value.message() == f"This run has no step {named}. Available: 1-3."
        assert named in refused.value.message("zh")


def test_steps_are_looked_up_on_the_ranks_that_are_asked_for(tmp_path: Path) -> None:
    store, operators = _store(tmp_path), QUESTIONS["operators"]
    assert len(operators.ask(store, steps=[1, 3]).data) == 2  # one on each rank
    with pytest.raises(NoAnswerError, match="no step 3"):
        operators.ask(store, steps=[3], ranks=[0])
    with pytest.raises(UsageError, match="no rank 8"):
        operators.ask(store, steps=[1], ranks=[8])


def test_a_step_that_only_slices_carry_is_one(tmp_path: Path) -> None:
    (row,) = QUESTIONS["operators"].ask(_store(tmp_path), steps=[5]).data.to_dicts()
    assert (row["rank"], row["count"]) == (1, 1)


def test_without_any_step_that_is_the_reason(tmp_path: Path) -> None:
    kernel = {"kind": "kernel", "name": "k", "start_ns": 0, "dur_ns": 5, "step": None}
    store = make_store(tmp_path, slices=[kernel], tracks=[{"track": 0, "kind": "stream"}])
    with pytest.raises(NoAnswerError, match="No steps were recorded"):
        QUESTIONS["operators"].ask(store, steps=[1])


def test_numbers_of_batches_will_do_where_the_pipeline_is_asked_about(tmp_path: Path) -> None:
    batches = [{"batch": number, "get_us": 5.0, "push_us": 1.0, "total_us": 9.0} for number in (1, 2, 3)]
    store = make_store(tmp_path, pipeline_batches=batches)
    QUESTIONS["pipeline"].ask(store, steps=[2])
    with pytest.raises(NoAnswerError, match="no step 4"):
        QUESTIONS["pipeline"].ask(store, steps=[2, 4])
