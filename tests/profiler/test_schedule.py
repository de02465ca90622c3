"""Which steps a schedule records."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.layout.optimizer_steps import steps_of_the_training
from stepscope.profiler import ProfilerAction, schedule
from stepscope.profiler.settings.schedule import understood


def _letters(plan: schedule, steps: int) -> str:
    return "".join(
        {"NONE": "N", "WARM_UP": "W", "RECORD": "R", "RECORD_AND_SAVE": "S"}[plan(s).name] for s in range(steps)
    )


def test_the_documented_example_records_steps_four_and_five() -> None:
    assert _letters(schedule(skip_first=2, wait=1, warmup=1, active=2, repeat=1), 9) == "NNNWRSNNN"


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"wait": 0, "active": 1}, "SSSSSS"),
        ({"wait": 0, "active": 3}, "RRSRRS"),
        ({"wait": 2, "active": 1, "repeat": 1}, "NNSNNN"),
        ({"wait": 0, "warmup": 1, "active": 1, "repeat": 2}, "WSWSNN"),
        ({"wait": 0, "warmup": 1, "active": 2, "skip_first": 3}, "NNNWRS"),
    ],
)
def test_cycles(numbers: dict[str, int], expected: str) -> None:
    assert _letters(schedule(**numbers), 6) == expected


@given(*(st.integers(0, 4) for _ in range(2)), st.integers(1, 4), st.integers(0, 3), st.integers(0, 3))
def test_a_schedule_is_its_cycle_written_out(wait: int, warmup: int, active: int, repeat: int, skip: int) -> None:
    cycle = "N" * wait + "W" * warmup + "R" * (active - 1) + "S"
    cycles = (
        itertools.repeat(cycle)
        if repeat == 0
        else itertools.chain(itertools.repeat(cycle, repeat), itertools.repeat("N"))
    )
    written = "N" * skip + "".join(itertools.islice(itertools.chain.from_iterable(cycles), 40))
    assert (
        _letters(schedule(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip), 40) == written[:40]
    )


@pytest.mark.parametrize("bad", [-1, 1.5, "2", True, None])
@pytest.mark.parametrize(
    ("name", "fallback"), [("wait", 0), ("active", 1), ("warmup", 0), ("repeat", 0), ("skip_first", 0)]
)
def test_a_bad_value_is_named_and_replaced(name: str, fallback: int, bad: object, said: list[str]) -> None:
    numbers: dict[str, Any] = {"wait": 1, "active": 2, name: bad}
    plan = schedule(**numbers)
    assert plan.to_dict()[name] == fallback
    assert len(said) == 1
    assert name in said[0]
    assert repr(bad) in said[0]


def test_active_zero_is_bad_too(said: list[str]) -> None:
    assert schedule(wait=0, active=0).active == 1
    assert "at least 1" in said[0]


def test_what_is_required_is_required() -> None:
    with pytest.raises(TypeError):
        schedule(wait=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="negative"):
        schedule(wait=1, active=1)(-1)


def test_the_plan_of_another_profiler_is_understood(said: list[str]) -> None:
    torch = pytest.importorskip("torch")
    plan = understood(torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1))
    assert [plan(step) for step in range(5)] == [*ProfilerAction, ProfilerAction.NONE]
    assert understood(lambda step: "nonsense")(0) is ProfilerAction.NONE
    assert "nonsense" in said[0]


@pytest.mark.parametrize(
    ("optimizers", "counted"),
    [
        ([0, 1] * 4, [0, 2, 4, 6]),
        ([0, *[1] * 5] * 3, [0, 6, 12]),  # five of a critic to one of a generator
        ([1, 0, 0, 1], [0, 3]),
        ([0] * 3 + [1] * 7, list(range(10))),
        ([0, *[1, 2] * 6], [0, 1, 3, 5, 7, 9, 11]),  # two go on together; the first of them leads
    ],
)
def test_the_steps_of_one_optimizer_are_those_of_the_training(optimizers: list[int], counted: list[int]) -> None:
    found = steps_of_the_training(optimizers)
    assert [place for place, is_step in enumerate(found) if is_step] == counted
