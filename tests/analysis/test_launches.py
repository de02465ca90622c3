"""Launch latency, its trend, statistics and the lists of the answer, on runs worked out by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from analysis.launch_cases import STREAM, Case
from analysis.stores import make_store
from stepscope.analysis.launches import Launches, launches
from stepscope.errors import NoAnswerError
from stepscope.report.launches import show
from stepscope.texts import LANGUAGES


def _vertical(case: Case, step: int = 1, start: float = 0, count: int = 12) -> None:
    """The host launches every 100 us; each kernel of 20 us starts 5 us behind the end of its call."""
    for number in range(count):
        at = start + number * 100
        case.launch((at, at + 10), (at + 15, at + 35), step=step)


def test_vertical_launch_lines_are_host_bound_and_have_no_slope(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 1200)
    _vertical(case)
    (row,) = launches(case.store(tmp_path)).data.steps
    assert (row.launches, row.kernels, row.bound, row.host_bound_share) == (12, 12, "host_bound", 1.0)
    assert row.latency_median_us == row.latency_p95_us == row.latency_max_us == 5.0
    assert row.latency_slope == pytest.approx(0, abs=1e-12)


def test_slanted_launch_lines_are_device_bound_and_their_slope_is_that_of_the_queue(tmp_path: Path) -> None:
    # A call every 10 us, kernels of 30 us one behind the other: the n-th call ends at 10n + 5 and its kernel starts at
    # 10 + 30n, so the latency 5 + 20n grows by 20 us per 10 us.
    case = Case()
    case.step(1, 0, 1000)
    for number in range(20):
        case.launch((number * 10, number * 10 + 5), (10 + 30 * number, 40 + 30 * number))
    (row,) = launches(case.store(tmp_path)).data.steps
    assert row.bound == "device_bound"
    assert row.host_bound_share == 1 / 20, "only the first finds an empty stream"
    assert row.latency_slope == pytest.approx(2.0)
    assert row.latency_median_us == 5 + 20 * 9.5
    assert row.latency_p95_us == pytest.approx(5 + 20 * 18.05)


def test_a_step_of_both_kinds_is_mixed_and_a_step_of_few_launches_is_not_judged(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 2000)
    _vertical(case, count=6)
    for number in range(6):
        case.launch((700 + number, 700.5 + number), (700 + 100 * number, 795 + 100 * number))
    case.step(2, 2000, 2500)
    _vertical(case, step=2, start=2000, count=3)
    mixed, few = launches(case.store(tmp_path)).data.steps
    assert (mixed.bound, mixed.host_bound_share) == ("mixed", 7 / 12)
    assert (few.bound, few.host_bound_share) == (None, 1.0)


def test_a_device_that_waits_for_its_host_is_not_bound_by_itself_alone(tmp_path: Path) -> None:
    # Twenty launches queue until 610 us; the host then does something else until 1000 us.
    case = Case()
    case.step(1, 0, 1100)
    for number in range(20):
        case.launch((number * 10, number * 10 + 5), (10 + 30 * number, 40 + 30 * number))
    case.launch((1000, 1005), (1010, 1100))
    (row,) = launches(case.store(tmp_path)).data.steps
    assert (row.bound, row.host_bound_share) == ("mixed", 2 / 21)


def test_a_kernel_that_starts_before_its_call_returns_has_no_negative_latency(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 100)
    case.launch((0, 50), (40, 60))
    case.launch((70, 80), (60, 90))
    (row,) = launches(case.store(tmp_path)).data.steps
    assert (row.latency_median_us, row.latency_max_us) == (0.0, 0.0)


def test_a_graph_launch_is_one_launch_of_many_kernels(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 500)
    case.launch((0, 10), (30, 60), (60, 90), (95, 100), call_name="cudaGraphLaunch")
    case.launch((200, 210), (215, 225))
    found = launches(case.store(tmp_path)).data
    (row,), (numbers,), (queue,) = found.steps, found.statistics, found.queue
    assert (row.launches, row.kernels) == (2, 4)
    assert (row.latency_median_us, row.latency_max_us) == ((20 + 5) / 2, 20.0), "inner kernels wait for each other"
    assert (queue.launches, queue.length_max, queue.outstanding_max) == (2, 3, 3)
    # 65 us of kernels stand against a call of 10 us; one kernel of 5 us alone would be short.
    assert (numbers.launches, numbers.short_kernels, numbers.call_us, numbers.kernel_us) == (2, 0, 20.0, 75.0)


def test_statistics_count_short_kernels_long_calls_and_late_starts(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 2000)
    case.launch((0, 10), (15, 20))  # short
    case.launch((100, 151), (160, 170))  # a long call is no short kernel
    case.launch((300, 350), (360, 400))  # 50 us is not long yet, and 40 us of kernel are short against it
    case.launch((500, 510), (610, 700))  # 100 us is not late yet
    case.launch((800, 810), (910.001, 1000))
    (row,) = launches(case.store(tmp_path)).data.statistics
    assert (row.launches, row.short_kernels, row.long_calls, row.delayed) == (5, 2, 1, 1)


def test_only_the_steps_and_as_many_gaps_as_asked_for_are_listed(tmp_path: Path) -> None:
    case = Case()
    for number in (1, 2, 3):
        case.step(number, number * 1000, number * 1000 + 900)
        _vertical(case, number, number * 1000, count=5)
    store = case.store(tmp_path)
    found = launches(store, steps=[2], gaps=2).data
    listed = (found.steps, found.idle, found.activities, found.statistics, found.gaps)
    assert all({row.step for row in rows} == {2} for rows in listed)
    assert [row.duration_us for row in found.gaps] == [580.0, 80.0], "the first is the way from the step before"
    assert len(launches(store, gaps=4).data.gaps) == 4
    with pytest.raises(NoAnswerError, match="in step 9"):
        launches(store, steps=[9])


def test_several_ranks_are_told_apart(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 500)
    _vertical(case, count=3)
    rows = [row | {"rank": rank} for rank in (0, 5) for row in case.slices]
    links = [row | {"rank": rank} for rank in (0, 5) for row in case.links]
    steps = [row | {"rank": rank} for rank in (0, 5) for row in case.steps]
    tracks = [{"rank": rank, "track": STREAM, "kind": "stream", "name": "s"} for rank in (0, 5)]
    store = make_store(tmp_path, slices=rows, links=links, steps=steps, tracks=tracks)
    assert [row.rank for row in launches(store).data.idle] == [0, 5]
    assert [row.rank for row in launches(store, ranks=[5]).data.steps] == [5]


def test_without_launches_the_rest_is_reported_and_a_note_says_which_switch_records_them(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 500)
    case.slice("kernel", "kernel", 10, 20, track=STREAM, step=1)
    case.slice("kernel", "kernel", 25, 40, track=STREAM, step=1)
    case.slice("kernel", "kernel", 140, 150, track=STREAM, step=1)
    answer = launches(case.store(tmp_path))
    assert [note.code for note in answer.notes] == ["launches_not_recorded"]
    assert all("Level1" in answer.notes[0].sentence(lang) for lang in LANGUAGES)
    (row,) = answer.data.idle
    assert answer.data.steps == [] == answer.data.queue
    assert (row.kernel_us, row.other_us, row.host_us) == (5 + 10, 100.0, 0.0), "a short gap is between kernels anyway"


def test_a_run_without_accelerator_has_idle_time_but_no_launches(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 500)
    case.slice("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "annotation", 0, 200, step=1)
    case.slice("aten::mm", "operator", 200, 300, step=1)
    case.slice("aten::relu", "operator", 320, 400, step=1)
    answer = launches(case.store(tmp_path))
    (row,) = answer.data.idle
    assert {note.code for note in answer.notes} == {"host_operators_are_work", "launches_without_device"}
    assert (row.idle_us, row.data_us, row.host_us) == (320.0, 200.0, 120.0)


def test_communication_without_compute_tells_no_idle_time(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 500)
    case.launch((0, 10), (15, 100), kind="collective", name="ncclDevKernel_AllReduce")
    answer = launches(case.store(tmp_path))
    assert answer.data.idle == [] == answer.data.gaps
    assert [note.code for note in answer.notes] == ["no_compute_recorded"]
    assert len(answer.data.steps) == 1


def test_runs_that_tell_nothing_are_refused_with_a_reason(tmp_path: Path) -> None:
    bare = Case()
    bare.step(1, 0, 100)
    with pytest.raises(NoAnswerError, match="no device work"):
        launches(bare.store(tmp_path / "bare"))
    with pytest.raises(NoAnswerError, match="No step"):
        launches(make_store(tmp_path / "empty"))


def test_the_answer_fits_its_type_and_can_be_shown_in_both_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = Case()
    case.step(1, 0, 1300)
    case.slice("cudaDeviceSynchronize", "runtime", 1200, 1290, step=1)
    case.slice("gc", "gc", 40, 60, step=1)
    _vertical(case)
    answer = launches(case.store(tmp_path))
    msgspec.convert(answer.plain(), Launches)
    for lang, words in (("en", "host-bound"), ("zh", "host-bound")):
        show(answer, lang)
        shown = capsys.readouterr().out
        assert words in shown
        assert "cudaDeviceSynchronize" in shown
