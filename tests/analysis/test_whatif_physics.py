"""What no change can do, whatever it is: on real recordings, of one rank and of several.

Less work makes no run longer and more makes none shorter, nothing is gained twice, no device gets done before its
busiest stream, and nobody saves more waiting for data than there was.
"""

from __future__ import annotations

import polars as pl
import pytest

from stepscope.analysis.replay.changes import CATEGORIES
from stepscope.analysis.whatif import WhatIf, whatif
from stepscope.errors import NoAnswerError
from stepscope.run import Run
from support.samples import RECORDINGS, open_sample

_RECORDINGS = (
    "four_ranks_cpu_two_slow.tar.xz",
    "four_ranks_cuda_slow_host.tar.xz",
    "gpu_steps.json.gz",
    "graph_both.json.gz",
    "loader_every_fourth.json.gz",
    "loader_two_workers_stepscope.tar.gz",
    "mindspore_cpu.tar.gz",
    "pair_bf16.json.gz",
    "pair_fp32.json.gz",
    "planted_pageable_copies.tar.xz",
    "planted_single_precision.tar.xz",
    "planted_slow_loader.tar.xz",
    "planted_synchronisations.tar.xz",
)
_OF_ONE_RANK = tuple(file for file in _RECORDINGS if not file.startswith("four_ranks"))
#: Steps of a host begin and end at marks. Time between them belongs to none, and may move into one.
_BETWEEN_MARKS = 0.005


def _subjects(run: Run) -> list[str]:
    """What can be changed: all categories, and what takes longest on the host and on the device."""
    longest = [run.operators(by="operator"), run.operators(by="kernel")]
    names = [name for table in longest for name in table["name"].head(2).to_list() if name and name != "-"]
    return [*CATEGORIES, *dict.fromkeys(names)]


def _changed(run: Run, *changes: str) -> WhatIf | None:
    """The run after some changes; None where there is nothing to change."""
    try:
        return whatif(run.store, changes=changes).data
    except NoAnswerError:
        return None


def _total_us(answer: WhatIf) -> float:
    return sum(step.changed_us for step in answer.steps)


@pytest.mark.parametrize("file", _RECORDINGS)
def test_less_work_makes_no_run_longer_and_more_none_shorter(file: str) -> None:
    run = open_sample(RECORDINGS / file)
    recorded = whatif(run.store).data
    whole = _total_us(recorded)
    margin = _BETWEEN_MARKS * whole
    looked_at = 0
    for subject in _subjects(run):
        half, none = (_changed(run, subject + change) for change in ("*0.5", "=0"))
        if half is None or none is None:
            continue
        looked_at += 1
        assert _total_us(half) <= whole + margin, subject
        assert _total_us(none) <= _total_us(half) + margin, subject
        assert all(step.changed_us >= 0 for step in [*half.steps, *none.steps]), subject
        if subject not in ("data", "sync", "communication"):  # with 0, these lose dependencies, too
            same, double = (_changed(run, subject + change) for change in ("*1", "*2"))
            assert same is not None and double is not None
            assert _total_us(same) == pytest.approx(whole, abs=0.001 * len(same.steps)), subject
            assert _total_us(double) >= whole - margin, subject
    assert looked_at >= 2, "else nothing was tried"


@pytest.mark.parametrize("file", _RECORDINGS)
def test_together_changes_gain_at_least_what_the_best_of_them_gains_alone(file: str) -> None:
    run = open_sample(RECORDINGS / file)
    alone = {subject: answer for subject in CATEGORIES if (answer := _changed(run, f"{subject}=0")) is not None}
    # What one change has removed is no longer there for the next one, so they need not be all there together.
    two = sorted(alone, key=lambda subject: _total_us(alone[subject]))[:2]
    together = _changed(run, *(f"{subject}*0.5" for subject in two))
    single = [answer for subject in two if (answer := _changed(run, f"{subject}*0.5")) is not None]
    assert together is not None
    margin = _BETWEEN_MARKS * sum(step.replayed_us for step in together.steps)
    assert _total_us(together) <= min(map(_total_us, single)) + margin
    reversed_order = _changed(run, *(f"{subject}*0.5" for subject in reversed(two)))
    assert reversed_order is not None
    assert _total_us(reversed_order) == pytest.approx(_total_us(together), rel=0.01)


@pytest.mark.parametrize("file", [file for file in _OF_ONE_RANK if "cpu" not in file and "loader_" not in file])
def test_no_device_is_done_before_its_busiest_stream(file: str) -> None:
    run = open_sample(RECORDINGS / file)
    work = (
        run.store.scan("slices")
        .filter(pl.col("kind").cast(pl.String).is_in(["kernel", "copy"]) & pl.col("step").is_not_null())
        .group_by("step", "track", "row")
        .agg(busy_us=pl.col("dur_ns").sum() / 1000)
        .collect()
    )
    busiest = work.group_by("track", "row").agg(pl.col("busy_us").sum())["busy_us"].max()
    assert isinstance(busiest, float)
    gone = [f"{subject}=0" for subject in ("host", "data", "sync", "gc", "compile")]
    answers = [answer for change in gone if (answer := _changed(run, change)) is not None]
    assert answers
    for answer in answers:
        # The first period may begin in the middle of a slice that was launched earlier.
        assert _total_us(answer) >= 0.98 * busiest


@pytest.mark.parametrize(
    "file", ["loader_every_fourth.json.gz", "loader_two_workers.json.gz", "planted_slow_loader.tar.xz"]
)
def test_nobody_saves_more_waiting_for_data_than_there_was(file: str) -> None:
    run = open_sample(RECORDINGS / file)
    waits = (
        run.store.scan("slices")
        .filter(pl.col("name").cast(pl.String).str.contains("DataLoaderIter.__next__"))
        .select(pl.col("dur_ns").sum() / 1000)
        .collect()
        .item()
    )
    answer = _changed(run, "data=0")
    assert answer is not None
    saved = sum(step.replayed_us - step.changed_us for step in answer.steps)
    assert 0.5 * waits <= saved <= waits
