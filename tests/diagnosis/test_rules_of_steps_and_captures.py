"""Rules on uneven steps, warm-up, memory, and captures that are cut."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.launch_cases import Case
from analysis.leak_patterns import Block, Pattern, append, generate, one_off, ring, temporary
from analysis.queue_model import USUAL, Job, Model, name_of
from analysis.stores import make_store
from diagnosis.cases import context, empty_store, judged, loop, mean_step
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.evidence.rhythm import ordinal, when
from stepscope.diagnosis.measures.rank_time import RankTime, Spread
from stepscope.diagnosis.pictures.memory import memory_pictures
from stepscope.diagnosis.ranking import ranked
from stepscope.store.notes import Note


def _stalling(every: int, fill: Callable[[Case, int, float], None]) -> Case:
    """Twelve steps of 100 us; in each ``every``th the device first idles for 200 us."""
    case, begin = Case(), 0.0
    for number in range(1, 13):
        idle = 200 if number % every == 0 else 0
        case.step(number, begin, begin + idle + 100)
        if idle:
            fill(case, number, begin)
        case.launch((begin + idle, begin + idle + 1), (begin + idle + 1, begin + idle + 100), step=number)
        begin += idle + 100
    return case


def _loads(case: Case, step: int, begin: float) -> None:
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    case.slice(name, "annotation", begin, begin + 200, step=step)


@pytest.mark.parametrize("every", [2, 3, 4])
def test_a_loader_that_stalls_now_and_then_is_reported_with_its_rhythm(tmp_path: Path, every: int) -> None:
    found = work_out(_stalling(every, _loads).store(tmp_path))
    worst = found.findings[0]
    assert [finding.kind for finding in found.findings if finding.accuses] == ["data_starved"]
    stalls = 12 // every * 200
    assert worst.gain_share == pytest.approx(stalls / (12 * 100 + stalls), abs=0.02)
    assert f"every {ordinal(every)} step" in worst.title.en and f"每 {every} 个" in worst.title.zh


def test_steps_that_wait_for_data_are_told_apart_from_steps_that_are_long_for_another_reason() -> None:
    """Steps 4, 8 and 12 wait for a batch; another one is far longer, and hides them among the long steps."""
    waits = [1.0, 1, 1, 50, 1, 1, 1, 52, 1, 1, 1, 51]
    spread = Spread(usual_us=100.0, longest_us=900.0, long_steps=[6], rhythm=None, idle_share={"data": 0.01})
    time = RankTime(0, [*range(1, 13)], 150.0, 100.0, 0.0, 0.0, 50.0, {"data": 13.5}, spread, {"data": waits})
    told = when(time, "data")
    assert not isinstance(told, str)
    assert (told.en, told.zh) == (", mostly in every 4th step", "（出现频率：每 4 个迭代一次）")
    even = dataclasses.replace(time, idle_in_steps={"data": [9.0, 10, 9, 10, 9, 10, 9, 10, 9, 10, 9, 10]})
    assert when(even, "data") == ""


def test_long_steps_cost_what_they_take_more_than_usual_ones(tmp_path: Path) -> None:
    spread = Spread(usual_us=80.0, longest_us=160.0, long_steps=[4, 8], rhythm=4)
    (finding,) = judged("step_jitter", context(tmp_path, mean_step(computing=100, spread=spread)))
    assert (finding.gain_us, finding.gain_share, finding.cause, finding.steps) == (20.0, 0.2, "periodic", [4, 8])
    assert "every 4th step" in finding.title.en and "每 4 个" in finding.title.zh


def test_one_long_step_is_an_accident(tmp_path: Path) -> None:
    spread = Spread(usual_us=80.0, longest_us=160.0, long_steps=[4], rhythm=None)
    assert judged("step_jitter", context(tmp_path, mean_step(computing=100, spread=spread))) == []


def test_warm_up_is_worth_knowing_and_accuses_nobody(tmp_path: Path) -> None:
    case = loop(0)
    case.steps[0]["warm_up"] = True
    found = work_out(case.store(tmp_path))
    (finding,) = found.findings
    assert (finding.kind, finding.cause, finding.severity, finding.steps) == (
        "operator_compile",
        "warm_up",
        "info",
        [1],
    )
    assert found.verdict.severity == "healthy"


@pytest.mark.parametrize(
    ("slow", "cause", "stage"),
    [
        ({"map": 2500}, "processing", "map"),
        ({"transfer": 10_000}, "transfer", None),
        ({"user": 8000}, "user_code", None),
        ({"getnext": 5000}, "getnext", None),
    ],
)
def test_the_verdict_on_the_pipeline_becomes_a_finding(
    tmp_path: Path, slow: dict[str, int], cause: str, stage: str | None
) -> None:
    model = Model(Job("sink", USUAL).slow(**slow))
    found = work_out(make_store(tmp_path, **model.tables()))
    finding = found.findings[0]
    assert (finding.kind, finding.cause) == ("data_starved", cause)
    assert finding.where.pipeline_op == (name_of(stage) if stage else None)
    assert finding.gain_method in ("pipeline_next_limit", "replay") and finding.severity == "critical"
    assert found.verdict.finding == finding.id


def test_a_pipeline_that_keeps_up_accuses_nobody(tmp_path: Path) -> None:
    run = RunContext(make_store(tmp_path, **Model(Job("sink", USUAL)).tables()))
    assert judged("data_starved", run) == []


def _generated(directory: Path, steps: int, *patterns: Pattern) -> RunContext:
    made = generate(1, steps, 1, patterns)
    return RunContext(make_store(directory, allocations=made.allocations, stacks=made.stacks, steps=made.steps))


@pytest.mark.parametrize(("steps", "severity"), [(7, "info"), (14, "warning"), (24, "critical")])
def test_a_leak_accuses_by_how_sure_the_number_of_steps_allows_to_be(tmp_path: Path, steps: int, severity: str) -> None:
    (finding,) = judged("memory_leak", _generated(tmp_path, steps, append))
    assert finding.severity == severity
    assert finding.where.site is not None and "append.py(1)" in finding.where.site
    assert [proof.page for proof in finding.proof] == ["memory"]


def _keeping(size: int) -> Pattern:
    """A block of this size is kept in every step."""

    def kept(chance: random.Random, steps: int) -> list[Block]:
        del chance
        return [(step, None, size) for step in range(steps)]

    kept.__name__ = f"keeping_{size}"
    return kept


def test_the_largest_leak_comes_first_and_a_list_of_losses_accuses_nobody(tmp_path: Path) -> None:
    run = _generated(tmp_path, 24, _keeping(512), _keeping(4096), _keeping(1 << 20))
    found = ranked(judged("memory_leak", run), run.times)
    assert [(finding.evidence[0].value, finding.severity) for finding in found] == [
        (1 << 20, "critical"),
        (4096, "critical"),
        (512, "info"),
    ]


def test_what_a_kept_output_holds_of_its_graph_is_one_leak(tmp_path: Path) -> None:
    """Three places below one line of the program keep 64, 32 and 4 KiB a step; another line keeps 8 KiB."""
    frames = ["job.py(3): step\nnn.Module: Net\nnet.py(1): a", "job.py(3): step\nnn.Module: Net", "job.py(7): log"]
    kept = ((64, 0, "aten::mm"), (32, 1, "aten::tanh"), (4, 1, "aten::mul"), (8, 2, "aten::item"))
    blocks = [
        {
            "device": "cuda:0",
            "before_window": False,
            "lost_free": False,
            "bytes": size * 1024,
            "alloc_ns": step * 1_000_000 + 500_000,
            "free_ns": None,
            "stack": stack,
            "operator": operator,
        }
        for step in range(20)
        for size, stack, operator in kept
    ]
    steps = [
        {
            "step": n + 1,
            "host_start_ns": n * 1_000_000,
            "host_end_ns": (n + 1) * 1_000_000,
            "marks_from": "profiler_step",
        }
        for n in range(20)
    ]
    stacks = [{"stack": number, "frames": frame} for number, frame in enumerate(frames)]
    run = RunContext(make_store(tmp_path, allocations=blocks, stacks=stacks, steps=steps))
    graph, other = ranked(judged("memory_leak", run), run.times)
    assert (graph.where.site, graph.evidence[0].value, graph.evidence[1].value) == ("job.py(3): step", 100 * 1024, 60)
    assert graph.title.en.endswith(
        "a result of job.py(3): step is kept in every step with its autograd graph, 100 KiB more each time"
    )
    assert ".detach()" in graph.advice.en and ".detach()" in graph.advice.zh
    assert (other.where.operator, other.evidence[0].value) == ("aten::item", 8 * 1024)
    (picture, _) = memory_pictures(run.store, [graph, other])
    assert picture.allocated_bytes == [100 * 1024 * (n + 1) for n in range(20)]


def test_what_only_looks_like_a_leak_is_none(tmp_path: Path) -> None:
    assert judged("memory_leak", _generated(tmp_path, 24, ring, one_off, temporary)) == []


def test_a_failed_allocation_is_critical_and_comes_first(tmp_path: Path) -> None:
    events = [{"device": "cuda:0", "time_ns": 9, "kind": "oom", "bytes": 1 << 30, "free_bytes": 0}]
    curve = [
        {"device": "cuda:0", "component": "caching allocator", "time_ns": at, "allocated": 100, "reserved": 200}
        for at in (1, 5)
    ]
    found = work_out(make_store(tmp_path, memory_events=events, memory=curve))
    assert [(finding.kind, finding.cause, finding.severity) for finding in found.findings] == [
        ("memory_pressure", "out_of_memory", "critical")
    ]
    (proof,) = found.findings[0].proof
    assert (proof.page, proof.start_ns) == ("memory", 9)


@pytest.mark.parametrize("code", ["file_truncated", "capture_cut_off"])
def test_a_cut_capture_is_reported_first(tmp_path: Path, code: str) -> None:
    run = RunContext(empty_store(tmp_path, [0]))
    vars(run)["notes"] = [Note(code, file="trace.json", place="byte 9", rank=0), Note("rank_guessed", rank=0)]
    (finding,) = judged("capture_incomplete", run)
    assert (finding.cause, finding.severity, finding.gain_us) == (code, "warning", None)


def test_a_whole_capture_is_not_called_cut(tmp_path: Path) -> None:
    assert judged("capture_incomplete", RunContext(empty_store(tmp_path, [0]))) == []


@pytest.mark.parametrize(("steps", "told"), [(1, True), (3, False)])
def test_setting_up_the_device_is_told_of_a_capture_without_other_steps(steps: int, told: bool, tmp_path: Path) -> None:
    """A second per step, in which the host loads a library for 300 ms; short and blocking calls are usual."""
    case = Case()
    for number in range(steps):
        begin = number * 1e6
        case.step(number, begin, begin + 1e6)
        case.launch((begin, begin + 5), (begin + 10, begin + 20), step=number)
        case.slice("cudaMalloc", "runtime", begin + 100e3, begin + 400e3, step=number)
        case.slice("cudaMalloc", "runtime", begin + 500e3, begin + 550e3, step=number)
        case.slice("cudaStreamSynchronize", "runtime", begin + 600e3, begin + 800e3, step=number)
        case.launch((begin + 900e3, begin + 900e3 + 5), (begin + 900e3 + 10, begin + 1e6), step=number)
    run = RunContext(case.store(tmp_path))
    found = judged("capture_incomplete", run)
    assert [finding.cause for finding in found] == (["first_use"] if told else [])
    for finding in found:
        assert finding.evidence[0].value == pytest.approx(0.3, abs=0.001)
        assert "(cudaMalloc alone 300 ms)" in finding.title.en
        (allocating,) = [each for each in judged("host_bound", run) if each.cause == "allocation"]
        assert allocating.gain_us == pytest.approx(50e3, rel=0.001)


def test_a_run_that_holds_nothing_is_not_called_healthy(tmp_path: Path) -> None:
    found = work_out(empty_store(tmp_path, [0]))
    assert found.verdict.severity == "info"
    assert len(found.not_checked) > 5
    assert all(entry.needs.en and entry.collect_with.zh for entry in found.not_checked)


def test_ranks_that_are_there_are_not_asked_for(tmp_path: Path) -> None:
    found = {}
    for count in (1, 2):
        store = make_store(tmp_path / str(count), ranks=[{"rank": rank} for rank in range(count)])
        found[count] = {entry.kind: entry.needs.en for entry in work_out(store).not_checked}["slow_rank"]
    assert found == {1: "more than one rank of the job", 2: "device work (or CPU operators) inside steps"}
