"""The rhythm of long steps: the same as when every rhythm is tried, also where there are many steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from stepscope.analysis.foundation.step_pattern import pattern_of
from stepscope.facts.steps import steps_facts


def _by_trying_all(step: list[int], period: list[float]) -> tuple[int, list[int]] | None:
    limits = steps_facts().pattern
    for every in range(2, len(step) // limits.least_steps + 2):
        for rest in range(every):
            due = [number for number in step if number % every == rest]
            long = [took for number, took in zip(step, period, strict=True) if number % every == rest]
            short = [took for number, took in zip(step, period, strict=True) if number % every != rest]
            distances = {later - earlier for earlier, later in itertools.pairwise(due)}
            if min(len(long), len(short)) < limits.least_steps or len(distances) != 1 or min(long) <= max(short):
                continue
            if len(long) == 2 and min(long) - max(short) < max(short) - min(short):
                continue
            if min(long) >= limits.longer_than_others * np.median(short):
                return every, due
    return None


@pytest.mark.parametrize("seed", range(4))
def test_it_is_found_where_trying_all_finds_it(seed: int) -> None:
    chance = np.random.default_rng(seed)
    rhythms = 0
    for _ in range(300):
        count = int(chance.integers(0, 30))
        step = np.sort(chance.choice(40, count, replace=False)) if chance.random() < 0.3 else np.arange(count) + 5
        period = chance.choice([10.0, 11.0, 12.0], count)
        every = int(chance.integers(2, 9))
        if chance.random() < 0.7:
            period = np.where(step % every == chance.integers(every), period + chance.choice([3.0, 20.0]), period)
        expected = _by_trying_all(step.tolist(), period.tolist())
        found = pattern_of(step, period)
        assert (None if found is None else (found.every, found.steps)) == expected
        rhythms += expected is not None
    assert rhythms > 50


def test_a_training_of_many_steps_is_no_trouble() -> None:
    step = np.arange(100_000)
    period = np.random.default_rng(1).normal(20.0, 1.0, len(step))
    neighbours = np.where(np.isin(step, (70_000, 70_001)), 500.0, period)
    assert pattern_of(step, neighbours) is None
    found = pattern_of(step, np.where(step % 1000 == 999, 500.0, period))
    assert found is not None
    assert (found.every, found.steps[0], len(found.steps)) == (1000, 999, 100)
