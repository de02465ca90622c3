"""Rules on idle time of the device: hand-made loops in which the device idles for 40 of 100 us, for one reason each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.launch_cases import US, Case
from diagnosis.cases import STEP, STEPS, context, judged, loop, mean_step
from stepscope.analysis.answer import Answer
from stepscope.analysis.cpu import Cpu, CpuRank
from stepscope.analysis.foundation.question import Question
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.finding import Diagnosis
from stepscope.facts.findings import finding_facts
from stepscope.store.run_store import RunStore

_IDLE = 40
_HELD = 38  # until the call that launches


def _dispatches(case: Case, step: int, begin: float) -> None:
    case.slice("aten::linear", "operator", begin, begin + _HELD, step=step)


def _runs_python(case: Case, step: int, begin: float) -> None:
    case.slice("aten::add", "operator", begin, begin + 1, step=step)


def _loads(case: Case, step: int, begin: float) -> None:
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    case.slice(name, "annotation", begin, begin + _HELD, step=step)


def _collects(case: Case, step: int, begin: float) -> None:
    case.slice("Python GC", "gc", begin, begin + _HELD, step=step)


def _compiles(case: Case, step: int, begin: float) -> None:
    case.slice("cuModuleLoadData", "runtime", begin, begin + _HELD, step=step)


def _diagnosed(case: Case, directory: Path) -> Diagnosis:
    return work_out(case.store(directory))


@pytest.mark.parametrize(
    ("fill", "kind", "cause"),
    [
        (_dispatches, "host_bound", "dispatch"),
        (_runs_python, "host_bound", "python"),
        (None, "host_bound", "unknown"),
        (_loads, "data_starved", "processing"),
        (_collects, "gc_pause", "garbage_collection"),
        (_compiles, "operator_compile", "compile"),
    ],
)
def test_idle_time_is_reported_once_and_by_its_reason(
    tmp_path: Path, fill: Callable[[Case, int, float], None] | None, kind: str, cause: str
) -> None:
    found = _diagnosed(loop(_IDLE, fill), tmp_path)
    assert [(finding.kind, finding.cause) for finding in found.findings] == [(kind, cause)]
    (finding,) = found.findings
    assert finding.severity == "critical"
    assert finding.gain_share == pytest.approx(0.4, abs=0.03)
    assert finding.gain_us == pytest.approx(40, abs=3)
    assert found.verdict.finding == finding.id
    assert finding.title.en in found.verdict.sentence.en and finding.title.zh in found.verdict.sentence.zh


def test_a_loop_that_launches_in_time_is_healthy(tmp_path: Path) -> None:
    found = _diagnosed(loop(0), tmp_path)
    assert found.findings == []
    assert (found.verdict.severity, found.verdict.finding) == ("healthy", None)
    assert {"host_bound", "sync_stall", "gc_pause", "data_starved", "idle_gap"} <= set(found.verdict.checked)
    unchecked = {entry.kind for entry in found.not_checked}
    assert {"memory_leak", "memory_pressure", "memory_fragmentation", "slow_rank"} <= unchecked
    # Nothing else but what several ranks, recorded links, shapes, clocks or known passes are needed for.
    assert {finding_facts().kinds[kind].page for kind in unchecked} == {
        "memory",
        "cluster",
        "communication",
        "operators",
        "steps",
    }


def test_what_is_between_ranks_needs_the_other_ranks_first(tmp_path: Path) -> None:
    unchecked = _diagnosed(loop(0), tmp_path).not_checked
    between = [entry for entry in unchecked if finding_facts().kinds[entry.kind].scope == "cluster"]
    assert {"slow_rank", "clock_skew", "stage_imbalance", "expert_imbalance"} <= {entry.kind for entry in between}
    assert {entry.needs.en for entry in between} == {"more than one rank of the job"}


def test_the_proof_is_the_time_of_a_gap(tmp_path: Path) -> None:
    (finding,) = _diagnosed(loop(_IDLE, _dispatches), tmp_path).findings
    begins = {number * STEP * US for number in range(1, STEPS + 1)}
    for proof in finding.proof:
        assert (proof.rank, proof.page) == (0, "timeline")
        assert proof.start_ns in begins and proof.end_ns is not None
        assert proof.end_ns - proof.start_ns == _IDLE * US


def test_a_call_that_returns_late_is_a_stall_of_synchronisation(tmp_path: Path) -> None:
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        if number > 1:  # it waited for the step before, and came back long after that had ended
            case.slice("cudaStreamSynchronize", "runtime", begin - 50, begin + _HELD, step=number)
        case.launch((begin + _HELD, begin + _HELD + 1), (begin + _IDLE, begin + STEP), step=number)
    found = _diagnosed(case, tmp_path)
    assert found.findings[0].kind == "sync_stall"
    assert found.findings[0].where.operator == "cudaStreamSynchronize"
    assert "cudaStreamSynchronize" in found.findings[0].title.en


@pytest.mark.parametrize(
    ("cause", "idle", "severities"),
    [
        ("unknown", 3.0, []),
        ("unknown", 8.0, ["warning"]),
        ("unknown", 30.0, ["critical"]),
        ("dependency", 3.0, []),
        ("dependency", 8.0, ["info"]),
        ("dependency", 30.0, ["warning"]),
    ],
)
def test_idle_time_behind_other_streams_accuses_only_where_it_costs_clearly_and_what_nothing_explains_sooner(
    tmp_path: Path, cause: str, idle: float, severities: list[str]
) -> None:
    run = context(tmp_path, mean_step(computing=100 - idle, idle={cause: idle}))
    found = judged("idle_gap", run)
    assert [(finding.cause, finding.severity) for finding in found] == [(cause, severity) for severity in severities]


@pytest.mark.parametrize(
    ("idle", "severities"), [(3.9, []), (4.0, ["warning"]), (24.0, ["warning"]), (25.0, ["critical"])]
)
def test_severity_goes_by_cost(tmp_path: Path, idle: float, severities: list[str]) -> None:
    run = context(tmp_path, mean_step(computing=100 - idle, idle={"host": idle}))
    assert [finding.severity for finding in judged("host_bound", run)] == severities


def test_what_the_profiler_itself_cost_is_held_against_nobody(tmp_path: Path) -> None:
    run = context(tmp_path, mean_step(computing=60, idle={"profiler": 40}))
    kinds = ("host_bound", "idle_gap", "sync_stall", "gc_pause", "data_starved", "exposed_communication")
    assert [finding for kind in kinds for finding in judged(kind, run)] == []


@pytest.mark.parametrize(
    ("cores", "crowded", "told"),
    [
        # On a crowded machine the process got a quarter of a core: of 40 us it wanted 30 and did not run.
        (0.25, 1.0, [("cpu_contention", 30.0), ("dispatch", 10.0)]),
        (0.25, 0.5, [("cpu_contention", 15.0), ("dispatch", 25.0)]),
        (1.0, 1.0, [("dispatch", 40.0)]),  # it got its core all the time
        (0.25, 0.0, [("dispatch", 40.0)]),  # there was always a free core
        (0.25, None, [("dispatch", 40.0)]),
    ],
)
def test_others_are_reported_only_for_the_time_in_which_they_had_the_core_of_the_host(
    tmp_path: Path, cores: float, crowded: float | None, told: list[tuple[str, float]]
) -> None:
    run = context(tmp_path, mean_step(computing=60, idle={"host": 40}))
    vars(run)["_answers"]["cpu"] = _contended(cores, crowded)
    assert [(finding.cause, finding.gain_us) for finding in judged("host_bound", run)] == told


@pytest.mark.parametrize(
    ("got", "runnable", "waiting", "idle", "lost"),
    [
        # A quarter of a core, three others in line for each core: for each moment it ran it waited three.
        (0.25, 32.0, None, {"host": 40}, 75.0),
        (0.25, 32.0, None, {"host": 10, "data": 30}, 45.0),  # while it waits for its loader it wants no core
        (0.25, 16.0, None, {"host": 40}, 25.0),  # one other in line: the rest of the time it slept
        (0.25, 8.0, None, {"host": 40}, 0.0),
        # The system counted it: many others are in line, but it slept half of the time.
        (0.25, 32.0, 0.25, {"host": 40}, 25.0),
        (0.25, 32.0, 2.5, {"host": 40}, 75.0),  # of several threads that wait at once, one holds up the step
    ],
)
def test_without_an_accelerator_the_whole_step_waits_for_cores(
    tmp_path: Path, got: float, runnable: float, waiting: float | None, idle: dict[str, float], lost: float
) -> None:
    run = context(tmp_path, mean_step(computing=60, idle=idle), device_kind="cpu")
    vars(run)["_answers"]["cpu"] = _contended(got, 1.0, runnable, waiting)
    found = [finding for finding in judged("host_bound", run) if finding.cause == "cpu_contention"]
    assert [(finding.gain_us, finding.gain_method) for finding in found] == ([(lost, "cores_free")] if lost else [])


def _contended(cores: float, crowded: float | None, runnable: float = 32.0, waiting: float | None = None) -> Cpu:
    entry = CpuRank(
        rank=0,
        cores=8,
        machine_busy_share=0.99,
        process_cores=cores,
        sibling_cores=0.0,
        other_cores=6.9,
        other_share=0.86,
        contended=True,
        runnable_mean=runnable,
        waiting_mean=waiting,
        crowded_share=crowded,
        context_switches_per_s=None,
        unit=None,
    )
    return Cpu([entry], [], [], [])


def test_ranks_that_lose_to_the_same_are_one_finding(tmp_path: Path) -> None:
    times = [mean_step(rank, computing=60, idle={"host": 40}) for rank in range(100)]
    (finding,) = judged("host_bound", context(tmp_path, *times))
    assert finding.ranks == list(range(100))
    assert "100" in finding.title.en


def test_a_context_asks_each_question_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = Question.ask

    def counted(question: Question, store: RunStore, **chosen: Any) -> Answer[Any]:
        asked.append(question.name)
        return ask(question, store, **chosen)

    monkeypatch.setattr(Question, "ask", counted)
    run = RunContext(loop(_IDLE).store(tmp_path))
    assert run.answer("launches") is run.answer("launches") and run.answer("leaks") is None
    assert run.times and run.times
    assert sorted(asked) == ["launches", "leaks", "steps", "summary"]


def test_what_one_step_alone_shows_is_only_suspected(tmp_path: Path) -> None:
    often = mean_step(computing=60.0, idle={"host": 40.0})
    once = replace(often, steps=[1])
    told = [
        judged("host_bound", context(tmp_path / name, *times))
        for name, times in {"often": [often], "once": [once], "once_each": [once, replace(once, rank=1)]}.items()
    ]
    assert [(found.severity, found.confidence) for [found] in told] == [
        ("critical", "likely"),
        ("warning", "suspect"),
        ("critical", "likely"),  # two ranks, one step each
    ]


@pytest.mark.parametrize(
    ("operators", "cause"),
    [
        # Steps of 10 ms on a CPU, of which operators take 6: 20 us after each of 200, or the rest of the step at once.
        ([(number * 50, number * 50 + 30) for number in range(200)], "dispatch"),
        ([(number * 30, number * 30 + 30) for number in range(200)], "python"),
    ],
)
def test_short_ways_between_operators_of_a_cpu_are_dispatching(
    tmp_path: Path, operators: list[tuple[float, float]], cause: str
) -> None:
    case, length = Case(), 10_000
    for number in range(1, STEPS + 1):
        case.step(number, number * length, (number + 1) * length)
        for begin, end in operators:
            case.slice("aten::add_", "operator", number * length + begin, number * length + end, step=number)
    found = work_out(case.store(tmp_path, device_kind="cpu")).findings
    (finding,) = (each for each in found if each.kind == "host_bound")  # the operators could be fused, too
    assert finding.cause == cause
    assert finding.gain_share == pytest.approx(0.4, abs=0.01)
