"""Verdicts on modelled pipelines with one slow stage each, in both modes, and against the model made faster."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from analysis.queue_model import OPS, USUAL, Job, Mode, Model, name_of
from analysis.stores import make_store
from stepscope.analysis.pipeline import Pipeline, pipeline
from stepscope.analysis.pipeline.structure import Verdict

#: Service times that make one stage clearly the slowest: about 10 ms a batch where training takes 4.
SLOW = {"read": 1200, "map": 2500, "shuffle": 1300, "batch": 10_000, "transfer": 10_000, "user": 8000}
MODES: tuple[Mode, ...] = ("sink", "feed")


def ask(model: Model, directory: Path, **without: None) -> Pipeline:
    tables = {name: rows for name, rows in model.tables().items() if name not in without}
    answer = pipeline(make_store(directory, **tables))
    msgspec.convert(answer.plain(), Pipeline)
    return answer.data


def verdict(model: Model, directory: Path, **without: None) -> Verdict:
    return ask(model, directory, **without).verdict


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stage", OPS)
def test_a_slow_stage_of_the_pipeline_is_named(tmp_path: Path, mode: Mode, stage: str) -> None:
    found = verdict(Model(Job(mode, USUAL).slow(**{stage: SLOW[stage]})), tmp_path)
    assert (found.bound, found.op, found.op_name) == ("pipeline", OPS[stage], name_of(stage))
    assert found.rule == {"sink": "S4", "feed": "F1"}[mode]
    assert ("D2" if stage == "read" else "D1") in found.rules
    assert {"map": "D4", "batch": "D6", "shuffle": "D7"}.get(stage, "D2") in found.rules
    assert found.certain and found.mode == mode
    assert any(name_of(stage) in sentence.en for sentence in found.advice)


@pytest.mark.parametrize("mode", MODES)
def test_a_slow_way_to_the_device_is_named(tmp_path: Path, mode: Mode) -> None:
    found = verdict(Model(Job(mode, USUAL).slow(transfer=SLOW["transfer"])), tmp_path)
    assert (found.bound, found.op) == ("transfer", None)
    assert found.rule == {"sink": "S3", "feed": "F4"}[mode]


@pytest.mark.parametrize("mode", MODES)
def test_slow_code_between_batches_is_named(tmp_path: Path, mode: Mode) -> None:
    found = verdict(Model(Job(mode, USUAL).slow(user=SLOW["user"])), tmp_path)
    assert (found.bound, found.op) == ("user_code", None)
    assert found.rule == {"sink": "S1", "feed": "F3"}[mode]


def test_a_slow_getnext_is_named(tmp_path: Path) -> None:
    found = verdict(Model(Job("sink", USUAL).slow(getnext=5000)), tmp_path)
    assert (found.bound, found.rule) == ("getnext", "S1")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("batches", [20, 60])
def test_slow_training_is_not_blamed_on_data(tmp_path: Path, mode: Mode, batches: int) -> None:
    # The data set ends before the training does, so that all queues run dry at the end.
    times = {**USUAL, "train": 20_000, "transfer": 400, "user": 100}
    found = ask(Model(Job(mode, times, batches=batches)), tmp_path)
    assert found.verdict.bound == "none" and found.bottleneck is None
    assert found.verdict.potential_speedup is None
    assert found.starving[0].count == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stage", SLOW)
def test_the_possible_speed_up_is_that_of_the_model_with_the_stage_made_fast(
    tmp_path: Path, mode: Mode, stage: str
) -> None:
    job = Job(mode, USUAL, written_us=1).slow(**{stage: SLOW[stage]})
    slow, fast = Model(job), Model(job.slow(**{stage: 1}))
    found = verdict(slow, tmp_path)
    assert found.potential_speedup == pytest.approx(slow.period_us / fast.period_us, rel=0.1)
    assert found.limited_by == "training"


@pytest.mark.parametrize("mode", MODES)
def test_the_next_slower_stage_limits_the_speed_up(tmp_path: Path, mode: Mode) -> None:
    job = Job(mode, USUAL, written_us=1).slow(map=4000, read=1000)
    slow, fast = Model(job), Model(job.slow(map=1))
    found = verdict(slow, tmp_path)
    assert (found.op_name, found.limited_by) == (name_of("map"), name_of("read"))
    assert found.potential_speedup == pytest.approx(slow.period_us / fast.period_us, rel=0.1)


def test_sending_to_the_device_limits_the_speed_up_of_a_sink(tmp_path: Path) -> None:
    job = Job("sink", USUAL, written_us=1).slow(map=4000, transfer=8000)
    slow, fast = Model(job), Model(job.slow(map=1))
    found = verdict(slow, tmp_path)
    assert (found.bound, found.op_name, found.limited_by) == ("pipeline", name_of("map"), "transfer")
    assert found.potential_speedup == pytest.approx(slow.period_us / fast.period_us, rel=0.1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(12))
def test_the_slowest_of_random_stages_is_named(tmp_path: Path, mode: Mode, seed: int) -> None:
    dice = random.Random(seed)
    workers = {stage: dice.choice([1, 2, 4]) for stage in ("read", "map")}
    size = dice.choice([4, 8])
    culprit = dice.choice(list(OPS))
    per_batch = {stage: dice.uniform(300, 3000) for stage in OPS} | {culprit: dice.uniform(10_000, 20_000)}
    times = {
        stage: round(us * workers.get(stage, 1) / (1 if stage == "batch" else size)) for stage, us in per_batch.items()
    }
    job = Job(
        mode,
        {**USUAL, **times},
        workers,
        capacity=dice.choice([8, 16, 64]),
        batch_size=size,
        batches=80,
        jitter=dice.choice([0.0, 0.2, 0.5]),
        seed=seed,
    )
    found = verdict(Model(job), tmp_path)
    assert (found.bound, found.op_name) == ("pipeline", name_of(culprit))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stage", [*OPS, "train"])
def test_exactly_the_steps_that_waited_at_an_empty_queue_starve(tmp_path: Path, mode: Mode, stage: str) -> None:
    model = Model(Job(mode, USUAL, written_us=1, jitter=0.6).slow(**{stage: SLOW.get(stage, 9000)}))
    if mode == "feed":  # without steps, batches are counted
        found = ask(model, tmp_path, steps=None, slices=None)
        ends = [step.got for step in model.steps]
    else:
        found = ask(model, tmp_path)
        ends = [step.end for step in model.steps]
    periods = [end - before for before, end in zip([0, *ends[:-1]], ends, strict=True)][1:]
    waited = [step.got - step.asked > 0.05 * sum(periods) / len(periods) for step in model.steps]
    expected = [
        number
        for number, (step, late) in enumerate(zip(model.steps, waited, strict=True), 1)
        if late and step.fill == 0 and number > 1
    ]
    assert found.starving[0].which == expected
    assert (found.starving[0].counted, found.starving[0].count) == (len(model.steps) - 1, len(expected))


@pytest.mark.parametrize("mode", MODES)
def test_a_cache_that_hides_a_slow_pipeline_at_first_does_not_hide_it_from_the_verdict(
    tmp_path: Path, mode: Mode
) -> None:
    # While the first step compiles, 32 batches gather; they last for half of the run.
    job = Job(mode, {**USUAL, "batch": 9000, "train": 3000}, capacity=32, batches=120, first_train_us=300_000)
    model = Model(job)
    assert not any(row["fill"] == 0 for row in model.batches[8:30])
    found = verdict(model, tmp_path)
    assert (found.bound, found.op_name) == ("pipeline", name_of("batch"))
    assert found.rules[:1] == ["S5"] and found.rule == {"sink": "S4", "feed": "F1"}[mode]


@pytest.mark.parametrize("stage", OPS)
def test_queues_alone_name_the_slow_stage_but_not_for_certain(tmp_path: Path, stage: str) -> None:
    model = Model(Job("feed", USUAL).slow(**{stage: SLOW[stage]}))
    lacking = dict.fromkeys(("pipeline_batches", "steps", "slices", "counters", "tracks", "cpu"))
    found = verdict(model, tmp_path, **lacking)
    assert (found.bound, found.op_name, found.certain) == ("pipeline", name_of(stage), False)
    assert found.potential_speedup is None


def test_without_recorded_copies_own_code_and_copying_are_not_told_apart(tmp_path: Path) -> None:
    model = Model(Job("feed", USUAL).slow(user=8000))
    tables = model.tables()
    tables["slices"] = [row for row in tables["slices"] if row["kind"] != "copy"]
    found = pipeline(make_store(tmp_path, **tables)).data.verdict
    assert (found.bound, found.rule, found.certain) == ("unknown", "F2", False)


def test_a_sink_without_its_device_queue_is_judged_by_the_hosts_queue(tmp_path: Path) -> None:
    def without_device_queue(model: Model, place: Path) -> Verdict:
        tables = model.tables()
        tables["pipeline_samples"] = [row for row in tables["pipeline_samples"] if row["op"] >= 0]
        tables["slices"] = [row for row in tables["slices"] if row["phase"] is None]
        return pipeline(make_store(place, **tables)).data.verdict

    slow = without_device_queue(Model(Job("sink", USUAL).slow(map=2500)), tmp_path / "map")
    assert (slow.bound, slow.op_name, slow.certain) == ("pipeline", name_of("map"), False)
    sending = without_device_queue(Model(Job("sink", USUAL).slow(transfer=10_000)), tmp_path / "transfer")
    assert sending.bound == "unknown"
    training = without_device_queue(Model(Job("sink", {**USUAL, "train": 20_000, "user": 1})), tmp_path / "train")
    assert training.bound == "none"
