"""What-if on hand-made runs whose answers can be worked out on paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.launch_cases import HELPER, OTHER_STREAM, Case
from stepscope.analysis.replay.changes import parse_change
from stepscope.analysis.whatif import WhatIf, whatif
from stepscope.errors import NoAnswerError, UsageError
from support.samples import open_sample


def _ask(case: Case, directory: Path, *changes: str) -> WhatIf:
    return whatif(case.store(directory), changes=changes).data


def _queued() -> Case:
    """The host is done after 20 us; on the device b follows a, and another stream is long done."""
    case = Case()
    case.step(1, 0, 20)
    case.launch((0, 5), (9, 109), name="a")
    case.launch((6, 8), (12, 62), name="other", stream=OTHER_STREAM)
    case.launch((10, 14), (111, 161), name="b")
    return case


@pytest.mark.parametrize(
    ("changes", "expected_us"),
    [
        ((), 161),
        (("a*0.5",), 111),
        (("a*2",), 261),
        (("other*0",), 161),  # nothing waits for it
        (("other*10",), 512),  # 50 us become 500, from 12 on
        (("a*0",), 14 + 4 + 50),  # b starts as soon as its launch allows, 4 us behind the call like the others
        (("a*0.5", "b*0.5"), 86),
    ],
)
def test_a_shorter_kernel_shortens_the_step_as_far_as_it_holds_it_up(
    tmp_path: Path, changes: tuple[str, ...], expected_us: float
) -> None:
    answer = _ask(_queued(), tmp_path, *changes)
    (step,) = answer.steps
    assert (step.period_us, step.replayed_us, step.changed_us) == (161, 161, expected_us)
    assert answer.gain_us == pytest.approx(161 - expected_us)
    assert answer.replay_error_share == 0


def test_a_faster_operator_on_the_host_shortens_a_step_that_waits_for_the_host(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 300)
    case.slice("aten::slow", "operator", 20, 220, step=1)
    case.launch((230, 240), (245, 260))
    assert _ask(case, tmp_path, "aten::slow*0.25").steps[0].changed_us == 260 - 150


def test_a_faster_host_does_not_take_the_profilers_own_time_away(tmp_path: Path) -> None:
    """The profiler is recorded on another thread, and as long as it works, nobody launches."""
    case = Case()
    case.step(1, 0, 300)
    case.launch((0, 5), (5, 10))
    case.slice("Activity Buffer Request", "overhead", 100, 150, track=HELPER, step=1)
    case.launch((280, 290), (290, 300))
    # What stays: 50 us of the profiler, beside which the first kernel runs, then the second kernel of 10 us.
    assert _ask(case, tmp_path, "host=0").steps[0].changed_us == pytest.approx(50 + 10)


def test_without_a_blocking_call_the_host_launches_while_the_device_still_works(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 300)
    case.launch((0, 10), (14, 114), name="a")
    case.slice("cudaStreamSynchronize", "runtime", 20, 124, step=1)
    case.launch((130, 140), (144, 244), name="b")
    # Gone is the call from 20 to 124: b is launched at 140 - 104 and waits for a, which ends at 114.
    assert _ask(case, tmp_path, "sync=0").steps[0].changed_us == 114 + 100
    # A kernel twice as fast lets the call return 50 us sooner, and all behind it.
    assert _ask(case, tmp_path / "again", "a*0.5").steps[0].changed_us == 244 - 50


def test_a_call_that_waits_past_the_end_of_a_step_waits_less_when_the_device_is_faster(tmp_path: Path) -> None:
    """The host runs one step ahead, held by a call for the step before: its period ends while the host is in there."""
    case = Case()
    case.step(1, 0, 20)
    case.launch((0, 5), (9, 109), step=1, name="a")
    case.step(2, 20, 130)
    case.launch((22, 26), (111, 121), step=2, name="b")
    case.slice("cudaEventSynchronize", "runtime", 30, 112, step=2)
    case.launch((115, 118), (122, 172), step=2, name="c")
    answer = _ask(case, tmp_path, "a*0.5")
    assert [step.period_us for step in answer.steps] == [109, 63]
    # a ends at 59, so the call returns at 62, c is launched at 68 and starts 4 us later.
    assert [step.changed_us for step in answer.steps] == [59, 122 - 59]


def test_a_step_without_waiting_for_data_and_without_garbage_collection(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 400)
    case.slice("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "annotation", 0, 200, step=1)
    case.slice("Python GC", "gc", 210, 260, step=1)
    case.launch((270, 280), (284, 384))
    assert _ask(case, tmp_path / "data", "data=0").gain_us == 200
    assert _ask(case, tmp_path / "gc", "gc=0").gain_us == 50
    assert _ask(case, tmp_path / "both", "gc=0", "data*0.5").gain_us == 150


def test_what_is_not_there_is_noted_with_names_that_come_near(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 20)
    case.launch((0, 5), (9, 109), name="MatMulV2")
    store = case.store(tmp_path)
    with pytest.raises(NoAnswerError, match="MatMulV2") as raised:
        whatif(store, changes=["MatMal*0.5"])
    assert raised.value.exit_code == 1
    with pytest.raises(NoAnswerError, match="nothing to change"):
        whatif(store, changes=["gc=0"])
    with pytest.raises(NoAnswerError, match="no peers"):
        whatif(store, changes=["rank:0=median"])
    with pytest.raises(UsageError, match="no rank 7"):
        whatif(store, changes=["rank:7=median"])
    assert whatif(store, changes=["matmul*0.5"]).data.gain_us == 50, "part of a name, in any case"


@pytest.mark.parametrize(
    "text",
    ["", "MatMul", "MatMul*", "MatMul*-1", "MatMul*x", "MatMul*nan", "MatMul*1e7", "data=2", "data=median", "gc@3-=0"],
)
def test_what_is_no_change_is_an_error_of_usage(text: str) -> None:
    with pytest.raises(UsageError):
        parse_change(text)


@pytest.mark.parametrize("job", ["AR", "ST"])
def test_waiting_that_nothing_explains_is_no_ground_to_promise_nothing(shared_data: Path, job: str) -> None:
    """Of whole operations alone nobody knows what a change would save: the slow rank of AR costs half of a step."""
    run = open_sample(shared_data / "cluster" / "ndtimeline" / f"trace-{job}.parquet")
    with pytest.raises(NoAnswerError) as refused:
        whatif(run.store, changes=["rank:0=median"])
    assert refused.value.code == "whatif_whole_operations"
