"""Our own values beside an explanation, wherever in the answer they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.stores import make_store
from stepscope.errors import UsageError
from stepscope.questions import QUESTIONS
from stepscope.questions.explain import explain
from stepscope.store.query import select
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
    assert found[0].value == 400.0  # the mean of 300 and 500


def test_a_field_is_explained_also_where_the_question_has_no_answer(store: RunStore) -> None:
    found = explain(store, "memory", "peak_bytes")
    assert found.ours == []
    assert found.formula


@pytest.mark.parametrize(
    ("steps", "shown"), [(None, [300_000, 500_000]), ([1], [500_000]), ([0, 1], [300_000, 500_000])]
)
def test_the_query_finds_what_a_value_is_made_of(store: RunStore, steps: list[int] | None, shown: list[int]) -> None:
    statement = explain(store, "steps", "computing_us", steps=steps).sql
    assert statement is not None
    assert sorted(select(store, statement)["dur_ns"]) == shown


def test_the_last_parts_of_a_name_are_enough(store: RunStore) -> None:
    assert explain(store, "summary", "idle_by_cause.host_us").field == "ranks.idle_by_cause.host_us"
    assert explain(store, "summary", "host_us").field == "ranks.idle_by_cause.host_us"


def test_a_misspelt_field_is_answered_with_similar_ones(store: RunStore) -> None:
    with pytest.raises(UsageError, match=r"no field mfu\. Choose from: ranks\.mfu_share"):
        explain(store, "flops", "mfu")
    with pytest.raises(UsageError, match=r"no field computing_ms\. .*computing_us"):
        explain(store, "steps", "computing_ms")


def test_where_entries_have_no_name_their_kind_tells_them_apart(store: RunStore) -> None:
    spreads = explain(store, "steps", "statistics.spreads.mean").ours
    assert {each.name: each.value for each in spreads}["computing_us"] == 400.0
