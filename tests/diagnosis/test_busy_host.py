"""Where the host was while the device waited: loops made by hand, in which the device idles for 40 of 100 us."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.launch_cases import Case
from diagnosis.cases import STEP, STEPS, loop
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.finding import Finding

_IDLE = 40
_HELD = 38  # until the call that launches
_UPDATE = "Optimizer.step#AdamW.step"


def _host_bound(case: Case, directory: Path) -> list[Finding]:
    return [finding for finding in work_out(case.store(directory)).findings if finding.kind == "host_bound"]


def test_a_marked_range_is_named_with_its_part_of_the_waiting(tmp_path: Path) -> None:
    def updates(case: Case, step: int, begin: float) -> None:
        if step % 2:  # in the other steps the host launches from elsewhere
            case.slice(_UPDATE, "annotation", begin, begin + _HELD, step=step)
        case.slice("aten::add_", "operator", begin, begin + _HELD, step=step)

    (finding,) = _host_bound(loop(_IDLE, updates), tmp_path)
    assert (finding.cause, finding.where.operator) == ("dispatch", _UPDATE)
    assert f"50.0% of that time in {_UPDATE}" in finding.title.en
    assert f"50.0% 的时间在 {_UPDATE}" in finding.title.zh
    assert "fused=True" in finding.advice.en


def test_a_range_around_the_whole_step_is_not_named(tmp_path: Path) -> None:
    def trains(case: Case, step: int, begin: float) -> None:
        case.slice("train_step", "annotation", begin, begin + STEP, step=step)
        case.slice("aten::linear", "operator", begin, begin + _HELD, step=step)

    (finding,) = _host_bound(loop(_IDLE, trains), tmp_path)
    assert finding.where.operator is None
    assert finding.title.en.endswith("busy dispatching operators")


def test_a_function_of_the_program_is_named_with_what_it_called(tmp_path: Path) -> None:
    def sorts(case: Case, step: int, begin: float) -> None:
        case.slice("/job/train.py(90): <module>", "python", begin, begin + STEP, step=step)
        case.slice("/job/train.py(12): metrics", "python", begin, begin + _HELD, step=step)
        case.slice("numpy/_core/fromnumeric.py(941): sort", "python", begin + 1, begin + _HELD, step=step)
        case.slice("<built-in method sort of numpy.ndarray object at 0x7f00>", "python", begin + 2, begin + _HELD)

    (finding,) = _host_bound(loop(_IDLE, sorts), tmp_path)
    place = "train.py(12): metrics → numpy/_core/fromnumeric.py(941): sort"
    assert (finding.cause, finding.where.site) == ("python", place)
    assert f"100.0% of that time in {place}" in finding.title.en
    # Stacks were recorded: nobody is told to record them.
    assert "with_stack" not in finding.advice.en


def test_where_many_functions_share_the_time_nobody_is_told_to_record_stacks_again(tmp_path: Path) -> None:
    def runs(case: Case, step: int, begin: float) -> None:
        case.slice(f"/job/model.py({step}): part_{step}", "python", begin, begin + _HELD, step=step)

    (finding,) = _host_bound(loop(_IDLE, runs), tmp_path)  # six steps, a sixth of the time in each function
    assert (finding.cause, finding.where.site) == ("python", None)
    assert "with_stack" not in finding.advice.en and "No single function stands out" in finding.advice.en
    assert "with_stack" not in finding.advice.zh


def test_memory_that_is_allocated_in_every_step_is_reported_beside_the_rest(tmp_path: Path) -> None:
    def allocates(case: Case, step: int, begin: float) -> None:
        case.slice("cudaMalloc", "runtime", begin, begin + 15, step=step)
        case.slice("aten::linear", "operator", begin + 15, begin + _HELD, step=step)

    findings = _host_bound(loop(_IDLE, allocates), tmp_path)
    assert [finding.cause for finding in findings] == ["dispatch", "allocation"]
    # Together they are the 40 us, so neither may claim all of it.
    assert [finding.gain_us for finding in findings] == [pytest.approx(25, abs=1), pytest.approx(15, abs=1)]


def test_the_function_that_waits_for_the_device_is_named(tmp_path: Path) -> None:
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        if number > 1:  # it waits for the step before, and comes back long after that has ended
            case.slice("/job/train.py(30): log", "python", begin - 52, begin + _HELD)
            case.slice("<built-in method item of Tensor object at 0x7f00>", "python", begin - 51, begin + _HELD)
            case.slice("cudaStreamSynchronize", "runtime", begin - 50, begin + _HELD, step=number)
        case.launch((begin + _HELD, begin + _HELD + 1), (begin + _IDLE, begin + STEP), step=number)
    stalls = [finding for finding in work_out(case.store(tmp_path)).findings if finding.kind == "sync_stall"]
    assert [finding.where.site for finding in stalls] == ["train.py(30): log → item"]
    assert "called in train.py(30): log → item" in stalls[0].title.en


def test_without_stacks_the_operator_that_waits_for_the_device_is_named(tmp_path: Path) -> None:
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        if number > 1:
            case.slice("MaskBackward0", "operator", begin - 53, begin + _HELD)
            case.slice("aten::index", "operator", begin - 52, begin + _HELD)
            case.slice("aten::nonzero", "operator", begin - 51, begin + _HELD)
            case.slice("cudaStreamSynchronize", "runtime", begin - 50, begin + _HELD, step=number)
        case.launch((begin + _HELD, begin + _HELD + 1), (begin + _IDLE, begin + STEP), step=number)
    (stall,) = [finding for finding in work_out(case.store(tmp_path)).findings if finding.kind == "sync_stall"]
    assert stall.title.en.endswith("called in aten::index")
    assert stall.where.site is None  # no line of the program


def test_waiting_for_the_host_in_every_third_step_says_so(tmp_path: Path) -> None:
    case = Case()
    for number in range(1, 13):
        begin = number * STEP
        idle = 60 if number % 3 == 0 else 1
        case.step(number, begin, begin + STEP)
        case.slice("aten::histc", "operator", begin, begin + idle - 0.5, step=number)
        case.launch((begin + idle - 0.4, begin + idle - 0.2), (begin + idle, begin + STEP), step=number)
    (finding,) = _host_bound(case, tmp_path)
    assert "mostly in every 3rd step" in finding.title.en
    assert "每 3 个迭代一次" in finding.title.zh
