"""PyTorch loops, recorded for real and compared with the raw trace and the loop's own clock."""

from __future__ import annotations

import gc
import itertools
import json
import operator
import time
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.profiler import (
    ExperimentalConfig,
    ProfilerActivity,
    ProfilerLevel,
    mstx,
    profile,
    schedule,
    tensorboard_trace_handler,
)
from stepscope.profiler.settings.profile_settings import checked

torch = pytest.importorskip("torch")

SAMPLE = {"wait": 1, "warmup": 1, "active": 2, "repeat": 1, "skip_first": 2}


class Training:
    """A small network and its optimizer; each step by the loop's own clock."""

    def __init__(self, slow_operator_s: float = 0.0) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.slow_operator_s = slow_operator_s
        self.clock: list[tuple[int, int]] = []
        self.slept_ns: list[tuple[int, int]] = []  # by a clock inside the operator and by one around it
        self.updated_ns: list[tuple[int, int]] = []  # before and after each step of the optimizer

    def step(self, idle_s: float = 0.0) -> None:
        began = time.time_ns()
        self.optimizer.zero_grad()
        loss = self.model(torch.randn(16, 32)).square().mean()
        if self.slow_operator_s:
            around = time.perf_counter_ns()
            with torch.profiler.record_function("slow_operator"):
                inside = time.perf_counter_ns()
                time.sleep(self.slow_operator_s)
                inside = time.perf_counter_ns() - inside
            self.slept_ns.append((inside, time.perf_counter_ns() - around))
        loss.backward()
        before = time.time_ns()
        self.optimizer.step()
        self.updated_ns.append((before, time.time_ns()))
        time.sleep(idle_s)
        self.clock.append((began, time.time_ns()))


def _record(where: Path, steps: int = 9, training: Training | None = None, **switches: Any) -> tuple[Path, Training]:
    training = training or Training()
    handler = tensorboard_trace_handler(str(where), analyse_flag=False)
    with profile(schedule=schedule(**SAMPLE), on_trace_ready=handler, **switches) as prof:
        for _ in range(steps):
            training.step()
            prof.step()
    (directory,) = where.iterdir()
    return directory, training


def test_activities_may_be_those_of_pytorch(said: list[str]) -> None:
    theirs = torch.profiler.ProfilerActivity
    settings = checked(activities=[theirs.CPU, theirs.CUDA])
    assert settings.activities == [ProfilerActivity.CPU, ProfilerActivity.GPU]
    assert checked(activities=[theirs.CPU]).activities == [ProfilerActivity.CPU]
    assert said == []


def test_the_sample_loop_records_steps_four_and_five_and_no_other(tmp_path: Path) -> None:
    directory, _ = _record(tmp_path)
    run = stepscope.load(directory)
    steps = run.table("steps").collect()
    assert steps["step"].to_list() == [4, 5]
    assert steps["incomplete"].to_list() == [False, False]
    slices = run.table("slices").filter(pl.col("kind") == "operator").collect()
    assert set(slices["step"].drop_nulls()) == {4, 5}
    assert run.notes == []


def test_step_times_are_those_of_the_loops_own_clock(tmp_path: Path) -> None:
    training = Training()
    with profile(schedule=schedule(wait=0, warmup=1, active=7, repeat=1), output_path=str(tmp_path)) as prof:
        for _ in range(8):
            training.step(idle_s=0.05)
            prof.step()
    steps = stepscope.load(tmp_path).table("steps").collect()
    recorded = (steps["host_end_ns"] - steps["host_start_ns"]).to_list()
    own = [ended - began for began, ended in training.clock[1:]]
    # A step lies around what the loop times; where nothing came between, they are the same.
    assert min(map(operator.truediv, recorded, own)) == pytest.approx(1, rel=0.01)


def test_operator_times_are_those_of_the_raw_trace(tmp_path: Path) -> None:
    directory, _ = _record(tmp_path, record_shapes=True)
    document = json.loads((directory / "STEPSCOPE" / "trace.json").read_text(), parse_float=Decimal)
    expected: dict[str, Decimal] = defaultdict(Decimal)
    for event in document["traceEvents"]:
        if event.get("cat") == "cpu_op":
            expected[event["name"]] += Decimal(event["dur"]) * 1000
    run = stepscope.load(directory)
    found = run.sql("SELECT name, sum(dur_ns)::BIGINT AS ns FROM slices WHERE kind = 'operator' GROUP BY name")
    assert {name: Decimal(ns) for name, ns in found.rows()} == dict(expected)
    assert len(expected) > 10
    shapes = run.sql("SELECT DISTINCT input_shapes FROM slices WHERE name = 'aten::addmm'")
    assert "[64], [16, 32], [32, 64]" in str(shapes.rows())


def test_a_slow_operator_is_found_with_its_size(tmp_path: Path) -> None:
    directory, training = _record(tmp_path, training=Training(slow_operator_s=0.05))
    slow = stepscope.load(directory).sql("SELECT step, dur_ns FROM slices WHERE name = 'slow_operator' ORDER BY step")
    assert slow["step"].to_list() == [4, 5]
    for ours, (inside, around) in zip(slow["dur_ns"], training.slept_ns[4:6], strict=True):
        assert inside * 0.999 <= ours <= around * 1.001  # two clocks


def test_collections_of_garbage_are_recorded_with_the_length_that_a_clock_in_them_gives(tmp_path: Path) -> None:
    clock: list[int] = []

    def seen(phase: str, info: dict[str, int]) -> None:
        if info["generation"] == 2:
            clock.append(time.perf_counter_ns())

    training = Training()
    with profile(schedule=schedule(wait=0, warmup=1, active=2, repeat=1), output_path=str(tmp_path)) as prof:
        for _ in range(3):
            training.step()
            gc.callbacks.append(seen)
            gc.collect()
            gc.callbacks.remove(seen)
            prof.step()
    own = [end - start for start, end in itertools.pairwise(clock)][2::2]
    pauses = stepscope.load(tmp_path).table("slices").filter(pl.col("kind") == "gc").collect()
    longest = pauses.sort("dur_ns", descending=True).head(2).sort("start_ns")
    assert longest["step"].to_list() == [1, 2]
    for ours, inside in zip(longest["dur_ns"], own, strict=True):
        assert ours >= inside * 0.8  # the two clocks lie within each other but for the time of a call
    assert not gc.callbacks or all("GarbageMarks" not in repr(callback) for callback in gc.callbacks)


def test_stacks_modules_and_memory_are_recorded_when_asked_for(tmp_path: Path) -> None:
    directory, _ = _record(tmp_path, with_stack=True, profile_memory=True)
    run = stepscope.load(directory)
    modules = run.sql("SELECT DISTINCT module FROM slices WHERE name = 'aten::addmm'")["module"].to_list()
    assert any(module and module.endswith("Linear_0") for module in modules)
    assert any("test_torch_capture.py" in frames for frames in run.table("stacks").collect()["frames"])
    components = set(run.table("memory").collect()["component"].cast(pl.String))
    assert "process" in components
    assert run.table("allocations").collect().height > 0


def test_steps_come_from_the_optimizer_where_nobody_calls_step(tmp_path: Path, said: list[str]) -> None:
    training = Training()
    with profile(output_path=str(tmp_path)):
        for _ in range(4):
            training.step(idle_s=0.03)
    run = stepscope.load(tmp_path)
    steps = run.table("steps").collect()
    assert steps["step"].to_list() == [0, 1, 2, 3]
    assert steps["marks_from"].unique().to_list() == ["optimizer_step"]
    for ended, (before, after) in zip(steps["host_end_ns"], training.updated_ns, strict=True):
        assert before <= ended <= after
    per_step = run.sql("SELECT step, count(*) AS n FROM slices WHERE name = 'Optimizer.step#SGD.step' GROUP BY step")
    assert sorted(per_step.rows())[:4] == [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert [note.code for note in run.notes] == ["steps_from_optimizer"]
    assert said == []


def test_steps_come_from_the_optimizer_also_where_a_schedule_is_never_driven(tmp_path: Path, said: list[str]) -> None:
    training = Training()
    with profile(schedule=schedule(wait=0, active=2, repeat=1), output_path=str(tmp_path)) as prof:
        for _ in range(4):
            training.step()
    assert len(said) == 1
    assert "Call step()" in said[0]
    run = stepscope.load(prof.windows[0].directory, store=tmp_path / "store")
    assert len(run.steps()) == 4


def test_step_calls_win_over_the_optimizer(tmp_path: Path) -> None:
    training = Training()
    with profile(output_path=str(tmp_path)) as prof:
        for _ in range(3):
            training.step(idle_s=0.02)
            prof.step()
    steps = stepscope.load(tmp_path).table("steps").collect()
    assert steps.filter(~pl.col("incomplete"))["step"].to_list() == [0, 1, 2]
    assert steps["marks_from"].unique().to_list() == ["profiler_step"]


def test_a_window_without_steps_is_one_step(tmp_path: Path) -> None:
    with profile(output_path=str(tmp_path)):
        torch.ones(10).sum()
    run = stepscope.load(tmp_path)
    steps = run.table("steps").collect()
    assert steps.select("step", "marks_from", "incomplete").rows() == [(0, "window", False)]
    assert "aten::sum" in run.table("slices").collect()["name"].to_list()


def test_a_schedule_can_be_driven_by_the_optimizer(tmp_path: Path) -> None:
    training = Training()
    prof = profile(schedule=schedule(**SAMPLE), output_path=str(tmp_path))
    prof.follow_optimizer()
    for _ in range(9):
        training.step()
    assert (prof.running, prof.step_num) == (False, 6), "after its last window nobody follows the training"
    assert stepscope.load(tmp_path).table("steps").collect()["step"].to_list() == [4, 5]


def test_marks_alone_do_not_start_the_frameworks_profiler(tmp_path: Path) -> None:
    config = ExperimentalConfig(profiler_level=ProfilerLevel.LevelNone, mstx=True)
    with profile(output_path=str(tmp_path), experimental_config=config):
        assert not torch.autograd._profiler_enabled()
        mstx.mark("here")
    run = stepscope.load(tmp_path)
    assert run.table("slices").filter(pl.col("kind") == "mark").collect()["name"].to_list() == ["here"]
    assert run.notes == []


def test_marks_that_nobody_records_are_reported_once(tmp_path: Path, said: list[str]) -> None:
    mstx.mark("before any window")
    with profile(output_path=str(tmp_path)):
        for _ in range(3):
            assert mstx.range_start("step") == 0
            mstx.mark("inside")
    assert [text for text in said if "mstx=True" in text] == [text for text in said if text.startswith("mstx")]
    assert sum("mstx=True" in text for text in said) == 1


def test_pytorchs_own_profiler_is_not_disturbed(tmp_path: Path, said: list[str]) -> None:
    only_host = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=only_host) as theirs, profile(output_path=str(tmp_path)):
        torch.ones(3).sum()
    assert any(event.key == "aten::sum" for event in theirs.key_averages())
    assert "own profiler" in said[0]
    run = stepscope.load(tmp_path)
    assert [note.code for note in run.notes] == ["operators_lost"]


def test_asking_for_an_accelerator_only_says_that_there_is_none(tmp_path: Path, said: list[str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with profile(output_path=str(tmp_path), activities=[ProfilerActivity.NPU]):
        torch.ones(3).sum()
    assert len(said) == 1
    assert "ProfilerActivity.CPU" in said[0]


def test_windows_one_after_the_other_are_independent(tmp_path: Path) -> None:
    training = Training()
    plan = schedule(wait=0, warmup=1, active=1, repeat=3)
    with profile(schedule=plan, output_path=str(tmp_path)) as prof:
        for _ in range(6):
            training.step()
            prof.step()
    steps = [stepscope.load(window.directory).table("steps").collect()["step"].to_list() for window in prof.windows]
    assert steps == [[1], [3], [5]]
    optimizer_steps = [
        stepscope.load(window.directory).sql("SELECT count(*) AS n FROM slices WHERE name LIKE 'Optimizer.step%'")["n"][
            0
        ]
        for window in prof.windows
    ]
    assert optimizer_steps == [1, 1, 1]


def test_a_callback_of_the_users_may_call_the_handler_itself(tmp_path: Path) -> None:
    seen = []

    def ready(finished: Any) -> None:
        tensorboard_trace_handler(str(tmp_path / "home"), analyse_flag=False)(finished)
        seen.append(finished.directory)

    with profile(output_path=str(tmp_path / "first"), on_trace_ready=ready):
        torch.ones(3)
    assert list((tmp_path / "home").iterdir()) == seen
    assert list((tmp_path / "first").iterdir()) == []


def test_a_callback_that_fails_costs_a_warning_and_nothing_else(tmp_path: Path, said: list[str]) -> None:
    def broken(finished: Any) -> None:
        raise RuntimeError("no luck")

    with profile(
        schedule=schedule(wait=0, active=1, repeat=2), output_path=str(tmp_path), on_trace_ready=broken
    ) as prof:
        for _ in range(4):
            torch.ones(3)
            prof.step()
    assert len(prof.windows) == 2
    assert len(said) == 1
    assert "no luck" in said[0]


def test_two_optimizers_of_one_step_are_told_as_one_step(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    one, other = Training(), Training()
    with profile(output_path=str(tmp_path)) as prof:
        for _ in range(4):
            one.step()
            other.optimizer.step()
    assert "[stepscope] 4 steps recorded in" in capfd.readouterr().err
    assert stepscope.load(tmp_path).table("steps").collect().height == prof.windows[0].steps == 4


def test_a_training_that_goes_on_with_another_optimizer_is_followed(tmp_path: Path) -> None:
    first, second = Training(), Training()
    with profile(output_path=str(tmp_path)):
        for training, count in ((first, 3), (second, 10)):
            for _ in range(count):
                training.step()
    steps = stepscope.load(tmp_path).table("steps").collect()
    assert steps["step"].to_list() == list(range(13))
