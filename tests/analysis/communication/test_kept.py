"""The answer for a whole job is kept with the store, and worked out again when something it depends on has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis import communication as module
from stepscope.deliver.redaction import redacted
from stepscope.facts import thresholds
from stepscope.simulate.scenario import Plan
from stepscope.simulate.writing import simulate
from support.scenarios import small


class WorkedOutAnewError(Exception):
    """Nothing that was kept was used."""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job whose answer is kept; whoever works it out again fails."""
    simulate(small(plan=Plan(dp=2), steps=2), tmp_path / "run", detail="steps")
    stepscope.load(tmp_path / "run").communication()

    def never(*_: object, **__: object) -> None:
        raise WorkedOutAnewError

    monkeypatch.setattr(module, "_work_out", never)
    return tmp_path / "run"


def test_a_second_process_finds_it(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = stepscope.load(job).communication()
    monkeypatch.undo()
    (job / "communication.json").unlink()
    assert stepscope.load(job).communication() == kept


def test_a_part_of_the_job_is_not_answered_with_the_whole(job: Path) -> None:
    run = stepscope.load(job)
    step = run.table("steps").collect()["step"][0]
    parts: list[dict[str, Any]] = [{"ranks": [0]}, {"steps": [step]}, {"group": "dp"}, {"operation": "all_reduce"}]
    for asked in parts:
        with pytest.raises(WorkedOutAnewError):
            run.ask("communication", **asked)


def test_another_plan_is_another_answer(job: Path) -> None:
    with pytest.raises(WorkedOutAnewError):
        stepscope.load(job, parallel="tp=2").communication()


def test_another_threshold_is_another_answer(job: Path, tmp_path: Path) -> None:
    name, value = next(iter(thresholds.shipped().items()))
    (tmp_path / "limits.toml").write_text(f"{name} = {value}\n", "utf-8")
    thresholds.use(tmp_path / "limits.toml")
    try:
        with pytest.raises(WorkedOutAnewError):
            stepscope.load(job).communication()
    finally:
        thresholds.use(None)


def test_another_content_is_another_answer(job: Path) -> None:
    run = stepscope.load(job)
    checksums = run.store.manifest.checksums
    checksums[next(iter(checksums))] += 1
    with pytest.raises(WorkedOutAnewError):
        run.communication()


def test_pseudonyms_are_not_answered_with_names(job: Path) -> None:
    store = redacted(stepscope.load(job).store)
    with pytest.raises(WorkedOutAnewError):
        module.communication(store)
