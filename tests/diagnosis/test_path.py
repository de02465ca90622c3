"""The path through the decision trees: which questions are asked, of which numbers, and where a yes leads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.launch_cases import Case
from analysis.stores import make_store
from diagnosis.cases import loop
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.decision_path.walk import tree_of
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.finding import Diagnosis, PathStep
from stepscope.facts.decision_trees import decision_trees_facts
from stepscope.facts.findings import finding_facts
from stepscope.facts.thresholds import in_use, use
from stepscope.report.diagnose import path_line
from stepscope.simulate.scenario_files import of_table
from stepscope.simulate.writing import simulate
from stepscope.store.run_store import RunStore, open_store
from stepscope.texts import text

_HELD = 38


def _collects(case: Case, step: int, begin: float) -> None:
    case.slice("Python GC", "gc", begin, begin + _HELD, step=step)


def _step(diagnosis: Diagnosis, tree: str, question: str) -> PathStep:
    (step,) = [each for each in diagnosis.path if (each.tree, each.question, each.group) == (tree, question, None)]
    return step


def test_idle_time_leads_to_its_cause_and_no_other(tmp_path: Path) -> None:
    """40 of 100 us are idle while the garbage collector runs: free, then garbage collection, then the finding."""
    diagnosis = work_out(loop(40, _collects).store(tmp_path))
    (finding,) = diagnosis.findings
    free, garbage = (_step(diagnosis, "delimitation", name) for name in ("free", "collecting_garbage"))
    assert (free.answer, free.depth, garbage.answer, garbage.depth) == ("yes", 0, "yes", 1)
    assert free.value == pytest.approx(0.40, abs=0.03) and free.threshold == 0.10
    assert (free.findings, garbage.findings) == ([], [finding.id])
    assert _step(diagnosis, "delimitation", "waiting_for_data").answer == "no"


def test_where_the_device_is_busy_nothing_below_is_asked(tmp_path: Path) -> None:
    diagnosis = work_out(loop(0).store(tmp_path))
    assert _step(diagnosis, "delimitation", "free").answer == "no"
    assert not [step for step in diagnosis.path if step.depth]
    assert not any(step.findings for step in diagnosis.path)


def test_one_card_is_never_asked_about_differences_between_ranks(tmp_path: Path) -> None:
    asked = {(step.tree, step.question) for step in work_out(loop(40).store(tmp_path)).path}
    assert {tree for tree, _ in asked} <= {"single_card", "delimitation"}
    assert not [name for _, name in asked if name.endswith("between_ranks")]


def test_a_number_that_was_not_recorded_is_said_to_be_unknown(tmp_path: Path) -> None:
    """The loop has no operators: nobody knows where forward begins."""
    step = _step(work_out(loop(40).store(tmp_path)), "single_card", "interval")
    assert (step.value, step.answer, step.findings) == (None, "unknown", [])


@pytest.mark.parametrize(
    ("coordinates", "tree"),
    [
        ([{}], "single_card"),
        ([{"dp": 0}, {"dp": 1}], "data_parallel"),
        ([{"tp": 0}, {"tp": 1}], "model_parallel"),
        ([{"pp": 0, "tp": 0}, {"pp": 1, "tp": 0}], "pipeline_parallel"),
    ],
)
def test_the_split_of_a_job_chooses_the_tree(tmp_path: Path, coordinates: list[dict[str, int]], tree: str) -> None:
    ranks = [{"rank": rank, **where} for rank, where in enumerate(coordinates)]
    run = RunContext(make_store(tmp_path, ranks=ranks))
    vars(run)["times"] = dict.fromkeys(range(len(ranks)))
    assert tree_of(run) == tree


@pytest.fixture(scope="module")
def slow_rank(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """Eight ranks of which rank 5 computes longer."""
    faults = [{"kind": "slow_rank", "cause": "compute", "strength": "clear", "ranks": [5]}]
    table = {"extends": "healthy", "name": "path", "steps": 4, "faults": faults}
    out = tmp_path_factory.mktemp("path") / "run"
    simulate(of_table(table, "path"), out)
    store = open_store(out)
    assert store is not None
    return store


def test_values_are_those_of_summary(slow_rank: RunStore) -> None:
    diagnosis = work_out(slow_rank)
    summary = RunContext(slow_rank).answer("summary")
    assert summary is not None
    for part in ("computing", "communication", "free"):
        assert _step(diagnosis, "delimitation", part).value == getattr(summary.delimitation, part).share
    periods = [each.period_us for each in summary.ranks]
    computing = [each.computing_us for each in summary.ranks]
    expected = (max(computing) - min(computing)) / (sum(periods) / len(periods))
    step = _step(diagnosis, "data_parallel", "computing_of_ranks")
    assert step.value == pytest.approx(expected) and step.ranks == [5] and step.answer == "yes"
    (finding,) = [each for each in diagnosis.findings if each.kind == "slow_rank"]
    assert step.findings == [finding.id]


def test_every_finding_is_on_the_path(slow_rank: RunStore) -> None:
    diagnosis = work_out(slow_rank)
    reached = {finding for step in diagnosis.path for finding in step.findings}
    assert reached == {finding.id for finding in diagnosis.findings}


@pytest.fixture
def other_thresholds(tmp_path: Path) -> Iterator[None]:
    file = tmp_path / "mine.toml"
    file.write_text("[delimitation]\nlargest_spread_share = 0.9\n")
    use(file)
    yield
    use(None)


@pytest.mark.usefixtures("other_thresholds")
def test_a_users_threshold_takes_another_branch(slow_rank: RunStore) -> None:
    step = _step(work_out(slow_rank), "data_parallel", "computing_of_ranks")
    assert (step.threshold, step.answer, step.findings) == (0.9, "no", [])


def test_the_tables_name_kinds_limits_and_questions_that_exist() -> None:
    limits, kinds = in_use(), set(finding_facts().kinds)
    for questions in decision_trees_facts().trees.values():
        earlier: list[str] = []
        for name, question in questions.items():
            assert question.limit in limits and set(question.kinds) <= kinds
            assert question.under is None or question.under in earlier
            assert all(text(f"decision_question.{name}", lang) for lang in ("en", "zh"))
            earlier.append(name)


def test_a_line_at_the_terminal_names_the_number_of_the_finding(slow_rank: RunStore) -> None:
    diagnosis = work_out(slow_rank)
    step = _step(diagnosis, "data_parallel", "computing_of_ranks")
    number = [finding.id for finding in diagnosis.findings].index(step.findings[0]) + 1
    line = path_line(step, diagnosis.findings)
    assert line.en.startswith("Does computing differ between ranks? yes (") and line.en.endswith(
        f"limit 5.0%) → {number}"
    )
    assert line.zh.startswith("各 rank 的计算时间是否差异较大？是（") and line.zh.endswith(f"→ {number}")
