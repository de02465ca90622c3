"""The mean step, what it leaves out, and the delimitation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.stores import make_store
from stepscope.analysis.summary import summary


def _run(directory: Path, busy: dict[int, list[int]], groups: list[dict[str, Any]] | None = None) -> Any:
    """Ranks whose steps take 100 us, of which each computes for the given microseconds."""
    slices, steps = [], []
    for rank, parts in busy.items():
        for number, length in enumerate(parts):
            start = number * 100_000
            steps.append({"rank": rank, "step": number, "host_start_ns": start, "host_end_ns": start + 100_000})
            slices.append(
                {"rank": rank, "slice": number, "kind": "kernel", "name": "k", "step": number, "start_ns": start}
                | {"dur_ns": length * 1000}
            )
    return make_store(directory, slices=slices, steps=steps, groups=groups or [])


def test_means_per_rank(tmp_path: Path) -> None:
    found = summary(_run(tmp_path, {0: [50, 60, 90], 1: [70, 70, 70]})).data
    # Rank 0 works in 0..50, 100..160, 200..290, so its periods are 50, 110 and 130 us; rank 1 has 70, 100 and 100.
    assert [entry.computing_us for entry in found.ranks] == [pytest.approx(200 / 3), 70]
    assert [entry.idle_us for entry in found.ranks] == [30, 20]
    assert [entry.period_us for entry in found.ranks] == [pytest.approx(290 / 3), 90]
    first = found.ranks[0]
    assert (first.period_median_us, first.period_p95_us, first.period_max_us) == (110, 128, 130)
    assert found.delimitation is not None
    assert found.delimitation.computing.share == pytest.approx((200 + 210) / (290 + 270))
    assert found.delimitation.free.share == pytest.approx((90 + 60) / (290 + 270))
    assert found.ranks[0].statistics.counted == 3


def test_uneven_computing_is_flagged_and_the_rank_named(tmp_path: Path) -> None:
    found = summary(_run(tmp_path, {0: [92] * 10, 1: [92] * 10, 2: [99] * 10})).data.delimitation
    assert found is not None
    assert found.computing.flagged
    assert found.computing.ranks == [2]
    assert found.computing.reasons == ["spread"]
    assert found.free.reasons == ["spread"]  # 8 % idle is below the limit, but ranks differ by 7 %
    assert not found.communication.flagged


def test_an_even_busy_run_flags_nothing(tmp_path: Path) -> None:
    found = summary(_run(tmp_path, {0: [95] * 3, 1: [96] * 3})).data.delimitation
    assert found is not None
    assert not (found.computing.flagged or found.communication.flagged or found.free.flagged)


def test_groups_are_looked_at_by_themselves(tmp_path: Path) -> None:
    groups = [
        {"group": "tp0", "dimension": "tp", "ranks": [0, 1]},
        {"group": "tp1", "dimension": "tp", "ranks": [2, 3]},
    ]
    found = summary(_run(tmp_path, {0: [95] * 3, 1: [95] * 3, 2: [95] * 3, 3: [60] * 3}, groups)).data.delimitation
    assert found is not None
    assert [(entry.group, entry.flagged) for entry in found.computing.groups] == [("tp0", False), ("tp1", True)]
    assert found.free.groups[1].ranks == [3]


def test_evaluation_between_training_steps_is_left_out_and_named(tmp_path: Path) -> None:
    slices: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    for number in range(6):
        start = number * 100_000
        training = number % 3 != 2
        backward_end = start + 80_000 if training else None
        mark: dict[str, Any] = {"step": number, "host_start_ns": start, "host_end_ns": start + 100_000}
        steps.append({**mark, "forward_start_ns": start, "backward_end_ns": backward_end})
        length = 80_000 if training else 20_000
        slices.append({"kind": "kernel", "name": "k", "step": number, "start_ns": start, "dur_ns": length})
    (entry,) = summary(make_store(tmp_path, slices=slices, steps=steps)).data.ranks
    assert entry.statistics.mode == "training"
    assert entry.statistics.other_mode_steps == [2, 5]
    assert entry.computing_us == 80


def test_an_unusually_long_step_is_named_and_the_median_does_not_move(tmp_path: Path) -> None:
    store = _run(tmp_path, {0: [50] * 12})
    steps = store.scan("steps").collect().to_dicts()
    for step in steps[7:]:
        step["host_end_ns"] += 200_000
        step["host_start_ns"] += 200_000
    steps[7]["host_start_ns"] -= 200_000
    late = pl.when(pl.col("step") >= 7).then(200_000).otherwise(0)
    slices = store.scan("slices").with_columns(pl.col("start_ns") + late).collect()
    (entry,) = summary(make_store(tmp_path / "late", slices=slices, steps=steps)).data.ranks
    assert entry.statistics.outlier_steps == [7]
    assert (entry.period_median_us, entry.period_max_us) == (100, 300)
