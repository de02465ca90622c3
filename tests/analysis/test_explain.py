"""Our own values beside an explanation, wherever in the answer they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.stores import make_store
from stepscope.questions import QUESTIONS
from stepscope.questions.explain import explain
from stepscope.store.run_store import RunStore


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """Two steps of 1,000 us whose kernels last 300 and 500 us."""
    return make_store(
        tmp_path,
        steps=[
            {"step": step, "host_start_ns": step * 1_000_000, "host_end_ns": (step + 1) * 1_000_000} for step in (0, 1)
        ],
        slices=[
            {"kind": "kernel", "name": "k", "step": step, "start_ns": step * 1_000_000 + 100_000, "dur_ns": dur}
            for step, dur in ((0, 300_000), (1, 500_000))
        ],
        tracks=[{"track": 0, "kind": "stream"}],
    )


def test_fields_of_a_list_of_entries(store: RunStore) -> None:
    found = explain(store, "steps", "computing_us").ours
    assert [(each.rank, each.step, each.value) for each in found] == [(0, 0, 300.0), (0, 1, 500.0)]


def test_fields_of_lists_within_an_object(store: RunStore) -> None:
    found = explain(store, "summary", "computing_us").ours
    answer = QUESTIONS["summary"].ask(store).plain()
    assert [(each.rank, each.value) for each in found] == [
        (row["rank"], row["computing_us"]) for row in answer["ranks"]
    ]
    assert found[0].value == 400.0  # the median of 300 and 500


def test_a_field_is_explained_also_where_the_question_has_no_answer(store: RunStore) -> None:
    found = explain(store, "memory", "peak_bytes")
    assert found.ours == []
    assert found.formula
