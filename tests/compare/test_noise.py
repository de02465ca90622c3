"""Differences and chance: by all deals of a tiny case, and by how often nothing is called something."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.compare.noise import difference, discoveries, fewest_samples, standing_out


def test_the_probability_counts_the_deals_that_reach_the_difference() -> None:
    # Of the 6 deals of {1, 2, 3, 4} into pairs, two (1,2|3,4 and 3,4|1,2) differ by 2.
    told = difference(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), 0.05)
    assert told.delta[0] == pytest.approx(2.0)
    assert told.probability[0] == pytest.approx(2 / 6)


def test_three_steps_cannot_tell_and_four_can() -> None:
    assert fewest_samples(0.05) == 4
    low, high = np.array([[1.0, 1.1, 1.2]]), np.array([[9.0, 9.1, 9.2]])
    assert difference(low, high, 0.05).probability[0] == pytest.approx(0.1)


def test_the_noise_is_that_within_the_sides() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(10, 1, (1, 8)), rng.normal(1000, 1, (1, 8))
    assert difference(first, second, 0.05).noise[0] < 3


def test_rows_that_differ_by_chance_alone_seldom_stand_out() -> None:
    rng = np.random.default_rng(1)
    spread = rng.uniform(0.001, 0.2, (400, 1))
    first, second = (100 * (1 + spread * rng.normal(0, 1, (400, 6))) for _ in range(2))
    assert standing_out(first, second, np.full(400, 0.1), 0.05).mean() < 0.02


def test_one_row_among_many_stands_out_with_few_steps() -> None:
    rng = np.random.default_rng(2)
    first, second = (100 + rng.normal(0, 0.5, (60, 5)) for _ in range(2))
    second[7] *= 1.1
    assert np.flatnonzero(standing_out(first, second, np.full(60, 1.0), 0.05)).tolist() == [7]


def test_a_row_without_spread_stands_out_only_if_it_differs() -> None:
    first = np.full((3, 4), 50.0)
    second = np.array([[50.0] * 4, [55.0] * 4, [50.0] * 4])
    assert standing_out(first, second, np.full(3, 0.5), 0.05).tolist() == [False, True, False]


def test_discoveries_follow_the_procedure_of_benjamini_and_hochberg() -> None:
    # Limits are 0.0125, 0.025, 0.0375, 0.05: the third is below its own, so all before it count.
    assert discoveries(np.array([0.03, 0.9, 0.02, 0.01]), 0.05).tolist() == [True, False, True, True]
