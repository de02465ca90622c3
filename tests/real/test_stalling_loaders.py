"""Loaders that stall in a rhythm, recorded: share, rhythm and steps are those of the loop's own clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stepscope.run import Run
from support.recordings import recorded_steps

#: Recording, and every how many steps its loop waits.
LOADERS = [
    ("loader_every_fourth", 4),
    ("loader_every_fourth_stepscope", 4),
    ("loader_two_workers", 2),
    ("loader_two_workers_stepscope", 2),
]

Open = Callable[[str], Run]


def _stalling_steps(name: str) -> list[int]:
    """Steps that waited longer than they worked, by the clock."""
    return [step.step for step in recorded_steps(name) if step.waited_ns > step.took_ns / 2]


@pytest.mark.parametrize(("name", "every"), LOADERS)
def test_the_script_did_what_it_says(name: str, every: int) -> None:
    assert _stalling_steps(name) == [step.step for step in recorded_steps(name) if step.waited_ns > 100e6]
    assert len(_stalling_steps(name)) == len(recorded_steps(name)) // every


@pytest.mark.parametrize(("name", "every"), LOADERS)
def test_the_share_of_waiting_for_data_is_that_of_the_clock(recording: Open, name: str, every: int) -> None:
    clocked = recorded_steps(name)
    waited_ns, took_ns = (sum(part) for part in zip(*((step.waited_ns, step.took_ns) for step in clocked), strict=True))
    (rank,) = recording(name).summary().ranks
    assert rank.steps == len(clocked)
    assert rank.idle_by_cause is not None
    assert rank.idle_by_cause.data_us / rank.period_us == pytest.approx(waited_ns / took_ns, rel=0.02)
    assert rank.period_us == pytest.approx(took_ns / len(clocked) / 1000, rel=0.02)


@pytest.mark.parametrize(("name", "every"), LOADERS)
def test_the_rhythm_is_named(recording: Open, name: str, every: int) -> None:
    (rank,) = recording(name).summary().ranks
    assert rank.pattern is not None
    assert (rank.pattern.every, rank.pattern.steps) == (every, _stalling_steps(name))


@pytest.mark.parametrize(("name", "every"), LOADERS)
def test_the_loader_is_accused_with_what_it_costs(recording: Open, name: str, every: int) -> None:
    starved = [finding for finding in recording(name).diagnose().findings if finding.kind == "data_starved"]
    (finding,) = starved
    clocked = recorded_steps(name)
    waited_us = sum(step.waited_ns for step in clocked) / 1000
    assert finding.severity in ("warning", "critical")
    assert finding.gain_us == pytest.approx(waited_us / len(clocked), rel=0.02)
    assert set(finding.steps) <= set(_stalling_steps(name))


@pytest.mark.parametrize(("name", "every"), LOADERS)
def test_the_critical_path_is_that_of_a_stalling_step(recording: Open, name: str, every: int) -> None:
    (path,) = recording(name).critical_path()
    assert path.step in _stalling_steps(name)
    assert path.by_bound[0].bound == "data_loading"
