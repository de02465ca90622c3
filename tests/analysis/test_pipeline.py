"""Parts of the input-pipeline analysis: the tree, queues, batches, curves, narrowing to steps, and damaged data."""

from __future__ import annotations

import random
import statistics
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from analysis.queue_model import USUAL, Job, Model, name_of
from analysis.stores import make_store
from stepscope.analysis.pipeline import Pipeline, pipeline
from stepscope.analysis.pipeline.curves import kept_points
from stepscope.errors import NoAnswerError, UsageError
from stepscope.texts import LANGUAGES

Rows = list[dict[str, Any]]


def ask(directory: Path, **tables: Any) -> Pipeline:
    answer = pipeline(make_store(directory, **tables))
    msgspec.convert(answer.plain(), Pipeline)
    assert all(note.sentence(lang) for note in answer.notes for lang in LANGUAGES)
    return answer.data


def stage(op: int, kind: str, parent: int | None, capacity: int | None = 4, **more: Any) -> dict[str, Any]:
    return {"op": op, "name": f"{kind}(id={op})", "kind": kind, "parent": parent, "capacity": capacity, **more}


def looks(**fills: list[int]) -> Rows:
    """Samples of stages ``q0``, ``q1`` …, one every 10 ms."""
    return [
        {"op": int(name[1:]), "time_ns": place * 10_000_000, "queue": fill}
        for name, listed in fills.items()
        for place, fill in enumerate(listed)
    ]


# --- queues -------------------------------------------------------------------------------------------


def test_use_empty_and_full_are_those_of_the_samples(tmp_path: Path) -> None:
    found = ask(
        tmp_path,
        pipeline_ops=[stage(0, "Batch", None), stage(1, "Map", 0, 8, workers=2)],
        pipeline_samples=looks(q0=[0, 0, 4, 2], q1=[8, 8, 8, 4]),
    )
    reader, last = found.ops
    assert (reader.op, reader.depth, reader.children, last.children) == (1, 1, [], [1])
    assert (last.samples, last.queue_mean, last.use_share, last.use_p50_share) == (4, 1.5, 0.375, 0.25)
    assert (last.empty_share, last.full_share) == (0.5, 0.25)
    assert (reader.use_share, reader.full_share, reader.empty_share) == (0.875, 0.75, 0.0)
    assert [(curve.op, curve.queue) for curve in found.queues] == [(0, [0, 0, 4, 2]), (1, [8, 8, 8, 4])]


def test_stages_without_a_queue_are_passed_over_and_a_device_queue_is_not_part_of_the_way(tmp_path: Path) -> None:
    # Reader 3 → Map 2 (no queue) → Batch 1 → EpochCtrl 0 (no queue); the last queue is that of Batch.
    ops = [
        stage(0, "EpochCtrl", None, None),
        stage(1, "Batch", 0),
        stage(2, "Map", 1, None),
        stage(3, "TFReader", 2),
        stage(-1, "DeviceQueue", None, None, sink=True),
    ]
    found = ask(tmp_path, pipeline_ops=ops, pipeline_samples=looks(q1=[0] * 20, q3=[4] * 20))
    # The device's queue was never looked at, but the host's is empty; Batch is fed and does not deliver.
    blame = {entry.op: entry.blame_share for entry in found.ops}
    assert blame == {0: None, 1: 1.0, 2: None, 3: 0.0, -1: None}


def test_of_two_readers_the_one_with_the_emptier_queue_is_named(tmp_path: Path) -> None:
    ops = [stage(0, "Batch", None), stage(1, "Zip", 0, None), stage(2, "TFReader", 1), stage(3, "Generator", 1)]
    found = ask(tmp_path, pipeline_ops=ops, pipeline_samples=looks(q0=[0] * 20, q2=[4] * 20, q3=[0] * 20))
    assert (found.verdict.bound, found.bottleneck, found.verdict.certain) == ("pipeline", "Generator(id=3)", False)
    assert found.verdict.rules == ["D2", "D5"]


def test_queues_that_are_always_full_mean_that_training_is_the_limit(tmp_path: Path) -> None:
    ops = [stage(0, "Batch", None), stage(1, "Map", 0)]
    found = ask(tmp_path, pipeline_ops=ops, pipeline_samples=looks(q0=[4] * 20, q1=[3, 4] * 10))
    assert (found.verdict.bound, found.verdict.rule, found.bottleneck) == ("none", "D3", None)


def test_a_queue_of_unknown_length_still_names_the_stage(tmp_path: Path) -> None:
    ops = [stage(0, "Batch", None, None), stage(1, "Map", 0, None)]
    found = ask(tmp_path, pipeline_ops=ops, pipeline_samples=looks(q0=[0] * 20, q1=[7] * 20))
    assert found.bottleneck == "Batch(id=0)"
    assert [entry.use_share for entry in found.ops] == [None, None]


@given(some.lists(some.floats(-50, 50) | some.just(float("nan")), min_size=0, max_size=300), some.integers(4, 40))
def test_a_thinned_curve_keeps_its_ends_and_its_extremes(values: list[float], most: int) -> None:
    curve = np.array(values, np.float64)
    kept = kept_points(curve, most)
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert len(kept) <= max(most, len(curve) if len(curve) <= most else most)
    if len(curve):
        assert {0, len(curve) - 1} <= set(kept.tolist())
    real = curve[~np.isnan(curve)]
    if len(real):
        shown = curve[kept]
        assert np.nanmin(shown) == real.min() and np.nanmax(shown) == real.max()


def test_every_stretch_of_a_long_curve_keeps_its_lowest_and_highest() -> None:
    dice = random.Random(3)
    curve = np.array([dice.gauss(0, 1) for _ in range(10_000)])
    kept = set(kept_points(curve, 202).tolist())
    for part in np.array_split(np.arange(10_000), 100):  # 100 stretches of 100 points
        low, high = min(part, key=lambda place: curve[place]), max(part, key=lambda place: curve[place])
        assert {int(low), int(high)} <= kept


# --- batches ------------------------------------------------------------------------------------------


def test_first_batches_stand_apart_also_those_of_later_epochs(tmp_path: Path) -> None:
    gets = [900.0, 10.0, 30.0, 20.0, 700.0, 40.0]
    rows = [
        {"batch": number, "get_us": get, "push_us": 1.0, "total_us": get + 1, "queue": 1, "capacity": 4}
        for number, get in zip([1, 2, 3, 4, 1, 2], gets, strict=True)
    ]
    found = ask(tmp_path, pipeline_batches=rows)
    entry = next(times for times in found.batches if times.part == "get")
    usual = [10.0, 30.0, 20.0, 40.0]
    assert (entry.count, entry.first_us, entry.max_us) == (4, 900.0, 40.0)
    assert (entry.mean_us, entry.median_us) == (statistics.mean(usual), statistics.median(usual))
    assert entry.p95_us == pytest.approx(statistics.quantiles(usual, n=20, method="inclusive")[18])
    assert [times.part for times in found.batches] == ["get", "push", "total"]


# --- steps and ranks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["sink", "feed"])
def test_chosen_steps_are_judged_alone(tmp_path: Path, mode: Any) -> None:
    model = Model(Job(mode, {**USUAL, "map": 2500}, batches=30, device_clock_ns=0))
    store = make_store(tmp_path, **model.tables())
    whole, part = pipeline(store).data, pipeline(store, steps=[20, 21, 22, 23, 24]).data
    assert whole.bottleneck == part.bottleneck == name_of("map")
    assert part.starving[0].counted < whole.starving[0].counted
    assert set(part.starving[0].which) <= {20, 21, 22, 23, 24}
    assert sum(len(curve.time_ns) for curve in part.queues) < sum(len(curve.time_ns) for curve in whole.queues)
    with pytest.raises(NoAnswerError, match="in step 999"):
        pipeline(store, steps=[999])


def test_samples_on_another_clock_are_narrowed_by_the_batches(tmp_path: Path) -> None:
    model = Model(Job("feed", {**USUAL, "map": 2500}, batches=30))
    part = pipeline(make_store(tmp_path, **model.tables()), steps=[10, 11]).data
    first, last = model.batches[9]["time"] * 1000, model.batches[11]["time"] * 1000
    times = [time for curve in part.queues for time in curve.time_ns]
    assert times and min(times) >= first and max(times) < last


def test_the_rank_that_loses_most_is_the_verdict_of_the_run(tmp_path: Path) -> None:
    parts = [
        Model(Job("feed", USUAL, seed=seed).slow(**slow)).tables()
        for seed, slow in ((1, {}), (2, {"map": 2500}), (3, {"batch": 6000}))
    ]
    tables: dict[str, Any] = {}
    for rank, part in enumerate(parts):
        for name, rows in part.items():
            tables.setdefault(name, []).extend({**row, "rank": rank} for row in rows)
    found = ask(tmp_path, **tables)
    assert [verdict.op_name for verdict in found.verdicts][1:] == [name_of("map"), name_of("batch")]
    assert (found.verdict.rank, found.bottleneck) == (1, name_of("map"))
    assert [verdict.rank for verdict in pipeline(make_store(tmp_path / "two", **tables), ranks=[2]).data.verdicts] == [
        2
    ]
    with pytest.raises(UsageError):
        pipeline(make_store(tmp_path / "three", **tables), ranks=[7])


def test_a_rank_that_recorded_nothing_is_noted_and_a_run_without_data_has_no_answer(tmp_path: Path) -> None:
    store = make_store(tmp_path / "a", pipeline_ops=[stage(0, "Batch", None)], ranks=[{"rank": 0}, {"rank": 1}])
    assert [(note.code, note.rank) for note in pipeline(store).notes][:1] == [("pipeline_not_recorded", 1)]
    with pytest.raises(NoAnswerError, match=r"stepscope\.profiler"):
        pipeline(make_store(tmp_path / "b", ranks=[{"rank": 0}]))


# --- damaged data -------------------------------------------------------------------------------------


def test_stages_in_a_circle_and_orphans_are_roots(tmp_path: Path) -> None:
    ops = [stage(0, "Map", 1), stage(1, "Map", 0), stage(2, "Batch", 99), stage(3, "Map", 3), stage(2, "Twice", None)]
    found = ask(tmp_path, pipeline_ops=ops, pipeline_samples=looks(q0=[1, 2], q2=[0, 0], q77=[1, 1]))
    assert {entry.op for entry in found.ops} == {0, 1, 2, 3}
    assert all(entry.depth >= 0 for entry in found.ops)


@pytest.mark.parametrize("mode", ["sink", "feed"])
@pytest.mark.parametrize("seed", range(10))
def test_tables_with_holes_give_the_rest_and_never_fail(tmp_path: Path, mode: Any, seed: int) -> None:
    dice = random.Random(seed)
    tables = Model(Job(mode, {**USUAL, "map": 2500}, batches=12)).tables()
    for name in list(tables):
        if dice.random() < 0.3:
            del tables[name]
            continue
        rows = [dict(row) for row in tables[name] if dice.random() > 0.3]
        for row in rows:
            for column in list(row):
                if (
                    column not in ("op", "kind", "track", "time_ns", "start_ns", "dur_ns", "scope")
                    and dice.random() < 0.2
                ):
                    row[column] = None
        tables[name] = rows
    tables["ranks"] = [{"rank": 0}]
    try:
        ask(tmp_path, **tables)
    except NoAnswerError as error:
        assert error.message("zh")
