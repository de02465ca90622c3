"""Leaks among patterns of known truth, drawn at random: how many are found, and how many alarms are false."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from analysis.leak_patterns import LEAKS, NOT_LEAKS, Generated, cache_in_random_order, cache_of_equal_sizes, generate
from analysis.stores import make_store
from stepscope.analysis.leaks import leaks

_DRAWS = 120
# Until it is full, a cache that fills in random order behaves as a leak does.
_HARD = {cache_in_random_order.__name__, cache_of_equal_sizes.__name__}


def _flagged(directory: Path, made: Generated) -> Counter[str]:
    store = make_store(directory, allocations=made.allocations, stacks=made.stacks, steps=made.steps)
    found = leaks(store).data
    return Counter(made.pattern[str(site.stack).split("\n")[-1]] for site in found.sites if site.verdict == "leak")


def _score(flagged: Counter[str]) -> tuple[float, float]:
    right = sum(flagged[pattern.__name__] for pattern in LEAKS)
    false = sum(flagged[pattern.__name__] for pattern in NOT_LEAKS)
    return right / max(right + false, 1), right / (_DRAWS * len(LEAKS))


@pytest.mark.parametrize("seed", [11, 12])
def test_at_twenty_steps_every_pattern_is_reported(tmp_path: Path, seed: int) -> None:
    flagged = _flagged(tmp_path, generate(seed, 20, _DRAWS))
    precision, recall = _score(flagged)
    assert precision >= 0.98
    assert recall >= 0.95
    missed = {pattern.__name__: flagged[pattern.__name__] / _DRAWS for pattern in LEAKS}
    assert {name: share for name, share in missed.items() if share < 0.95} == {}
    false = {pattern.__name__: flagged[pattern.__name__] / _DRAWS for pattern in NOT_LEAKS}
    assert {name: share for name, share in false.items() if share > (0.06 if name in _HARD else 0.0)} == {}


@pytest.mark.parametrize(
    ("steps", "least_precision", "least_recall"), [(8, 0.8, 0.85), (12, 0.95, 0.96), (40, 0.99, 0.99)]
)
def test_more_steps_tell_more(tmp_path: Path, steps: int, least_precision: float, least_recall: float) -> None:
    precision, recall = _score(_flagged(tmp_path, generate(21, steps, _DRAWS)))
    assert precision >= least_precision
    assert recall >= least_recall


@pytest.mark.parametrize("steps", [8, 20, 60])
def test_a_clean_run_raises_no_alarm(tmp_path: Path, steps: int) -> None:
    clean = tuple(pattern for pattern in NOT_LEAKS if pattern.__name__ not in _HARD and "cache" not in pattern.__name__)
    if steps == 8:  # shorter than what fills and clears
        clean = tuple(pattern for pattern in clean if pattern.__name__ != "fill_and_clear")
    assert _flagged(tmp_path, generate(31, steps, 40, clean)) == Counter()


def test_bytes_per_step_and_blocks_are_those_that_were_planted(tmp_path: Path) -> None:
    made = generate(41, 20, 20, LEAKS)
    store = make_store(tmp_path, allocations=made.allocations, stacks=made.stacks, steps=made.steps)
    rows = made.allocations.filter(made.allocations["free_ns"].is_null())
    for site in leaks(store).data.sites:
        pattern = made.pattern[str(site.stack).split("\n")[-1]]
        if pattern in ("append", "append_small", "append_every_third"):
            own = rows.filter(rows["stack"] == _number(made, str(site.stack)))
            size = int(own["bytes"][0])
            every = 3 if pattern == "append_every_third" else 1
            assert site.bytes_per_step == pytest.approx(size / every, rel=0.05)
            assert (site.blocks, site.bytes_at_end) == (len(own), len(own) * size)
            assert [birth.blocks for birth in site.births] == [1] * len(own)


def _number(made: Generated, frames: str) -> int:
    return int(made.stacks.filter(made.stacks["frames"] == frames)["stack"][0])
