"""The critical path of steps made by hand: what is on it, what bounds it, and what would change it."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from analysis.launch_cases import BACKWARD, HELPER, LOOP, OTHER_STREAM, STREAM, US, Case
from analysis.stores import make_store
from stepscope.analysis.critical_path import CriticalPath, critical_path
from stepscope.analysis.foundation.work import work_of
from stepscope.analysis.replay.graph import Graph
from stepscope.analysis.replay.rank_graph import rank_graph
from stepscope.errors import NoAnswerError
from stepscope.report.critical_path import show
from stepscope.store.run_store import RunStore
from stepscope.texts import LANGUAGES


def _path(case: Case, directory: Path) -> CriticalPath:
    (found,) = critical_path(case.store(directory), steps=[1]).data
    assert found.path[0].start_ns == found.start_ns
    for part, following in zip(found.path, found.path[1:], strict=False):
        assert part.start_ns + round(part.duration_us * US) == following.start_ns
    assert sum(round(part.duration_us * US) for part in found.path) == round(found.length_us * US)
    assert sum(round(entry.duration_us * US) for entry in found.by_bound) == round(found.length_us * US)
    return found


def _bounds(found: CriticalPath) -> dict[str, float]:
    return {entry.bound: entry.duration_us for entry in found.by_bound}


def _parts(found: CriticalPath, *bounds: str) -> list[tuple[str | None, float]]:
    return [(part.name, part.duration_us) for part in found.path if part.bound in bounds]


def _graph(store: RunStore, start: float, end: float) -> Graph:
    return rank_graph(store, 0, work_of(store, 0), (round(start * US), round(end * US))).graph


def test_a_step_whose_kernels_wait_for_the_host_is_bound_by_the_host(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 400)
    for at in (0, 100, 200):
        case.slice("aten::mm", "operator", at, at + 90, step=1)
        case.launch((at + 70, at + 80), (at + 85, at + 95))
    found = _path(case, tmp_path)
    # The period ends with the last kernel, 5 us behind its call and 10 us long.
    assert found.length_us == 295.0
    assert _bounds(found) == {"cpu_bound": 280.0, "launch_overhead": 5.0, "compute": 10.0}
    assert [part.name for part in found.path if part.name][:3] == ["aten::mm"] * 3


def test_a_step_whose_kernels_queue_is_bound_by_the_device(tmp_path: Path) -> None:
    # The host is done after 20 us; kernels of 100, 50 and 200 us follow each other 2 us apart.
    case = Case()
    case.step(1, 0, 20)
    case.launch((0, 5), (9, 109), name="a")
    case.launch((6, 8), (111, 161), name="b")
    case.launch((10, 14), (163, 363), name="c")
    found = _path(case, tmp_path)
    assert found.length_us == 363.0
    assert _parts(found, "compute") == [("a", 100.0), ("b", 50.0), ("c", 200.0)]
    assert _bounds(found) == {
        "compute": 350.0,
        "cpu_bound": 5.0,
        "launch_overhead": 4.0,
        "kernel_kernel_overhead": 4.0,
    }


def test_a_synchronisation_leads_from_the_device_back_to_the_host(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 300)
    case.launch((0, 5), (9, 109), name="awaited")
    case.slice("cudaStreamSynchronize", "runtime", 20, 112, step=1)
    case.slice("aten::item", "operator", 112, 300, step=1)
    case.launch((301, 305), (309, 310), name="next")
    found = _path(case, tmp_path)
    sync = ("cudaStreamSynchronize", 3.0)
    assert _parts(found, "compute", "sync_overhead") == [("awaited", 100.0), sync, ("next", 1.0)]
    assert _bounds(found)["cpu_bound"] == 5.0 + 188.0 + 5.0


def test_a_synchronisation_that_waited_for_nothing_is_time_of_the_host(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 300)
    case.launch((0, 5), (9, 15))
    case.slice("cudaStreamSynchronize", "runtime", 20, 30, step=1)
    case.launch((290, 295), (299, 300))
    assert _bounds(_path(case, tmp_path)) == {"cpu_bound": 295.0, "launch_overhead": 4.0, "compute": 1.0}


def test_a_synchronisation_with_one_stream_does_not_wait_for_another(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 300)
    case.launch((0, 5), (9, 109), name="on the stream")
    case.launch((6, 8), (10, 119), name="elsewhere", stream=OTHER_STREAM)
    case.slice("cudaStreamSynchronize", "runtime", 20, 120, step=1, correlation=5)
    case.slice("Stream Sync", "sync", 20, 120, track=STREAM, step=1, correlation=5, stream=7)
    case.launch((125, 130), (134, 140), name="next")
    assert [name for name, _ in _parts(_path(case, tmp_path), "compute")] == ["on the stream", "next"]


def test_a_copy_to_pageable_memory_holds_its_caller(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 300)
    name = "Memcpy DtoH (Device -> Pageable)"
    case.launch((0, 250), (9, 245), kind="copy", name=name, call_name="cudaMemcpyAsync")
    case.launch((260, 265), (270, 280))
    assert _parts(_path(case, tmp_path), "copy") == [(name, 236.0)]


def test_a_kernel_behind_a_recorded_wait_depends_on_the_other_stream(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 30)
    case.launch((0, 5), (9, 50), name="before")
    case.launch((6, 8), (12, 200), name="ncclDevKernel_AllReduce", kind="collective", stream=OTHER_STREAM)
    case.slice("Stream Wait Event", "sync", 10, 11, track=STREAM, step=1)
    case.launch((12, 14), (203, 260), name="behind")
    found = _path(case, tmp_path)
    assert _parts(found, "communication", "compute") == [("ncclDevKernel_AllReduce", 188.0), ("behind", 57.0)]
    assert (found.needs, found.inferred_waits) == ([], 1)


def test_a_kernel_without_a_recorded_wait_depends_on_its_own_stream_where_waits_are_recorded(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 30)
    case.slice("Stream Wait Event", "sync", 1, 2, track=OTHER_STREAM, step=1)
    case.launch((0, 5), (9, 50), name="before")
    case.launch((6, 8), (12, 200), name="other", stream=OTHER_STREAM)
    case.launch((12, 14), (203, 260), name="behind")
    found = _path(case, tmp_path)
    assert [name for name, _ in _parts(found, "compute")] == ["before", "behind"]
    assert _bounds(found)["kernel_kernel_overhead"] == 153.0


def test_where_no_waits_are_recorded_they_are_inferred_and_that_is_noted(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 30)
    case.launch((0, 5), (9, 50), name="before")
    case.launch((6, 8), (12, 200), name="other", stream=OTHER_STREAM)
    case.launch((12, 14), (203, 260), name="behind")
    answer = critical_path(case.store(tmp_path), steps=[1])
    (found,) = answer.data
    assert [name for name, _ in _parts(found, "compute")] == ["other", "behind"]
    assert (found.needs, found.inferred_waits) == (["stream_waits"], 1)
    (note,) = answer.notes
    assert all("enable_cuda_sync_events" in note.sentence(lang) for lang in LANGUAGES)


def test_arrows_between_streams_are_believed(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 30)
    case.launch((0, 5), (9, 50), name="before")
    other = case.launch((6, 8), (12, 100), name="other", stream=OTHER_STREAM)
    behind = case.launch((12, 14), (203, 260), name="behind")
    case.link("event_wait", other[1], behind[1])
    found = _path(case, tmp_path)
    assert [name for name, _ in _parts(found, "compute")] == ["other", "behind"]
    assert (found.needs, found.inferred_waits) == ([], 0)


def test_a_graph_launch_is_expanded(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 30)
    case.launch((10, 20), (24, 50), (50, 90), (92, 200), name="in graph", call_name="cudaGraphLaunch")
    found = _path(case, tmp_path)
    assert _parts(found, "compute") == [("in graph", 26.0), ("in graph", 40.0), ("in graph", 108.0)]
    assert _parts(found, "launch_overhead") == [("in graph", 4.0)]


def test_loading_of_data_and_garbage_collection_on_the_path_are_reported(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 200)
    loader = case.slice("enumerate(DataLoader)#X.__next__", "annotation", 10, 90, step=1)
    case.slice("aten::stack", "operator", 20, 60, step=1)
    case.slice("gc", "gc", 100, 120, step=1)
    case.launch((130, 140), (145, 190))
    found = _path(case, tmp_path)
    expected = {"cpu_bound": 40.0, "data_loading": 80.0, "gc": 20.0, "launch_overhead": 5.0, "compute": 45.0}
    assert _bounds(found) == expected
    assert [part.slice for part in found.path if part.bound == "data_loading"] == [loader]


def test_the_path_goes_over_to_the_backward_thread_and_back(tmp_path: Path) -> None:
    # While the backward thread works from 110 to 280, the loop waits in a call of Python that nobody recorded.
    case = Case()
    case.step(1, 0, 400)
    forward = case.slice("aten::mm", "operator", 0, 100, step=1)
    backward = case.slice("MmBackward0", "operator", 110, 200, track=BACKWARD, step=1)
    case.slice("AddBackward0", "operator", 205, 280, track=BACKWARD, step=1)
    case.launch((290, 300), (305, 310))
    case.link("forward_backward", forward, backward)
    found = _path(case, tmp_path)
    named = [(part.name, part.start_ns // US, part.duration_us) for part in found.path if part.name]
    assert named[:3] == [("aten::mm", 0, 100.0), ("MmBackward0", 110, 90.0), ("AddBackward0", 205, 75.0)]


def test_a_task_queue_leads_from_the_thread_that_launches_to_the_one_that_asked(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 20)
    asked = case.slice("Enqueue", "runtime", 10, 14, step=1)
    taken = case.slice("Dequeue@Mul", "runtime", 40, 60, track=HELPER, step=1)
    case.launch((45, 50), (55, 200), thread=HELPER, call_name="Node@launch")
    case.link("queue", asked, taken)
    found = _path(case, tmp_path)
    assert [(part.slice, part.duration_us) for part in found.path][:3] == [(None, 10.0), (taken, 30.0), (taken, 10.0)]
    assert _bounds(found) == {"compute": 145.0, "cpu_bound": 50.0, "launch_overhead": 5.0}


def test_a_device_that_something_unknown_held_up_is_not_blamed_on_the_launch(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 20)
    case.launch((0, 5), (105.001, 200))
    assert _bounds(_path(case, tmp_path))["other"] == 100.001


def test_kernels_that_overlap_a_little_still_follow_each_other(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 20)
    case.launch((0, 5), (9, 109), name="a")
    case.launch((6, 8), (107, 207), name="b")
    assert _parts(_path(case, tmp_path), "compute") == [("a", 98.0), ("b", 100.0)]


def test_without_an_accelerator_the_path_leads_over_the_threads_of_the_host(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 500)
    forward = case.slice("aten::addmm", "operator", 50, 200, step=1)
    case.slice("aten::expand", "operator", 60, 65, step=1)
    backward = case.slice("AddmmBackward0", "operator", 210, 300, track=BACKWARD, step=1)
    case.link("forward_backward", forward, backward)
    case.slice("gloo:all_reduce", "collective", 310, 400, track=HELPER, step=1)
    case.slice("aten::add_", "operator", 410, 480, step=1)
    answer = critical_path(case.store(tmp_path), steps=[1])
    (found,) = answer.data
    assert _bounds(found) == {"compute": 150.0 + 90.0 + 70.0, "cpu_bound": 100.0, "communication": 90.0}
    assert [note.code for note in answer.notes] == ["host_operators_are_work"]


def test_a_collective_whose_end_is_noted_after_the_loop_went_on_still_held_the_loop_up(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 500)
    case.slice("aten::addmm", "operator", 50, 200, step=1)
    case.slice("gloo:all_reduce", "collective", 210, 405, track=HELPER, step=1)
    case.slice("aten::add_", "operator", 400, 500, step=1)
    (found,) = critical_path(case.store(tmp_path), steps=[1]).data
    assert _bounds(found) == {"cpu_bound": 60.0, "compute": 250.0, "communication": 190.0}, "it goes on at 400"


@pytest.mark.parametrize(("start", "end"), [(150, 700), (380, 405)])
def test_a_collective_that_the_loop_did_not_wait_for_is_not_on_the_path(tmp_path: Path, start: int, end: int) -> None:
    """It runs on for long, or began when most of the pause was over."""
    case = Case()
    case.step(1, 0, 800)
    case.slice("aten::addmm", "operator", 0, 200, step=1)
    case.slice("gloo:all_reduce", "collective", start, end, track=HELPER, step=1)
    case.slice("aten::add_", "operator", 400, 800, step=1)
    (found,) = critical_path(case.store(tmp_path), steps=[1]).data
    assert _bounds(found).get("communication", 0.0) == 0.0


def test_the_typical_step_is_chosen_unless_one_is_named(tmp_path: Path) -> None:
    case = Case()
    at = 0
    for number, lasts in enumerate([300, 100, 110, 140], 1):
        case.step(number, at, at + lasts)
        case.launch((at + 5, at + 10), (at + 15, at + lasts), step=number)
        at += lasts
    store = case.store(tmp_path)
    answer = critical_path(store)
    assert [found.step for found in answer.data] == [3], "the first is a warm-up, and 110 is the middle of the rest"
    assert answer.notes[0].code == "path_of_typical_step"
    assert [found.step for found in critical_path(store, steps=[4, 1]).data] == [1, 4]
    with pytest.raises(NoAnswerError, match="in step 8"):
        critical_path(store, steps=[8])


@pytest.mark.parametrize(("long", "shown", "code"), [(400, 3, "path_of_long_step"), (300, 2, "path_of_typical_step")])
def test_steps_that_take_most_of_the_time_tell_more_than_the_median(
    tmp_path: Path, long: int, shown: int, code: str
) -> None:
    # The 3rd and the 6th are long, but not the 9th: no rhythm. The others take 721 us together.
    case = Case()
    at = 0
    for number, lasts in enumerate([100, 104, long, 103, 101, long, 106, 102, 105], 1):
        case.step(number, at, at + lasts)
        case.launch((at + 5, at + 10), (at + 15, at + lasts), step=number)
        at += lasts
    answer = critical_path(case.store(tmp_path))
    assert (answer.data[0].step, answer.notes[0].code) == (shown, code)


def test_work_of_the_step_before_is_part_of_the_path_where_it_delays_the_step(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 100, 160)
    case.slice("leftover", "kernel", 50, 150, track=STREAM, step=0)
    case.launch((110, 115), (152, 250), name="own")
    assert _parts(_path(case, tmp_path), "compute") == [("leftover", 50.0), ("own", 98.0)]


def test_work_that_was_launched_before_its_step_is_not_called_work_without_launches(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 100)
    case.launch((10, 15), (20, 190), step=1)
    case.step(2, 100, 200)
    case.launch((20, 25), (190, 390), step=2)
    answer = critical_path(case.store(tmp_path), steps=[2])
    assert "launches_not_recorded" not in {note.code for note in answer.notes}


def test_a_capture_of_the_device_alone_has_a_path_and_says_what_is_missing(tmp_path: Path) -> None:
    slices = [
        {"name": "a", "kind": "kernel", "start_ns": 10, "dur_ns": 50, "track": STREAM, "step": 1},
        {"name": "b", "kind": "kernel", "start_ns": 70, "dur_ns": 30, "track": STREAM, "step": 1},
    ]
    steps = [{"step": 1, "host_start_ns": 0, "host_end_ns": 200}]
    tracks = [{"track": STREAM, "kind": "stream", "name": "s"}]
    answer = critical_path(make_store(tmp_path, slices=slices, steps=steps, tracks=tracks))
    (found,) = answer.data
    assert (found.length_us, found.needs) == (0.1, ["launches", "stream_waits"])
    assert _bounds(found) == {"compute": 0.08, "other": 0.01, "kernel_kernel_overhead": 0.01}
    assert {note.code for note in answer.notes} == {"launches_not_recorded", "path_without_stream_waits"}


def test_runs_that_tell_nothing_are_refused_with_a_reason(tmp_path: Path) -> None:
    bare = Case()
    bare.step(1, 0, 100)
    with pytest.raises(NoAnswerError, match="too little"):
        critical_path(bare.store(tmp_path / "bare"))
    with pytest.raises(NoAnswerError, match="No step"):
        critical_path(make_store(tmp_path / "empty"))


@pytest.mark.parametrize("seed", range(12))
def test_whatever_was_recorded_the_path_is_as_long_as_the_step(tmp_path: Path, seed: int) -> None:
    """Slices anywhere: kernels before their launches, of no length, over each other, and calls that cross."""
    chance = random.Random(seed)
    case = Case()
    case.step(1, 100, 500)

    def moment() -> float:
        return chance.randint(0, 600_000) / 1000

    calls, kernels = [], []
    names = ["cudaLaunchKernel", "cudaStreamSynchronize", "cudaMemcpyAsync", "Enqueue", "Dequeue@x"]
    for _ in range(30):
        start = moment()
        track = chance.choice([LOOP, BACKWARD, HELPER])
        kind, name = chance.choice([("operator", "aten::x"), *(("runtime", word) for word in names)])
        calls.append(case.slice(name, kind, start, start + chance.choice([0, 1, 30, 90]), track=track, step=1))
        start = moment()
        track, kind = chance.choice([STREAM, OTHER_STREAM]), chance.choice(["kernel", "copy", "collective"])
        name = chance.choice(["k", "Memcpy DtoH (Device -> Pageable)"])
        kernels.append(case.slice(name, kind, start, start + chance.choice([0, 1, 30, 90]), track=track, step=1))
    for _ in range(25):
        case.link("launch", chance.choice(calls), chance.choice(kernels))
        case.link("queue", chance.choice(calls), chance.choice(calls))
        case.link("forward_backward", chance.choice(calls), chance.choice(calls))
        case.link("event_wait", chance.choice(kernels), chance.choice(kernels))
    # Rows as readers give them: slices of a row never overlap.
    for row, entry in enumerate(case.slices):
        entry["row"] = row
    found = _path(case, tmp_path)
    device_end = max(case.slices[kernel]["start_ns"] + case.slices[kernel]["dur_ns"] for kernel in kernels)
    assert round(found.length_us * US) == device_end - 100 * US
    made = _graph(case.store(tmp_path / "again"), 100, device_end / US)
    assert made.earliest().tolist() == (made.time - made.time[0]).tolist()


def test_the_answer_fits_its_type_and_can_be_shown_in_both_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = Case()
    case.step(1, 0, 20)
    case.launch((0, 5), (9, 109), name="a")
    answer = critical_path(case.store(tmp_path))
    msgspec.convert(answer.plain(), list[CriticalPath])
    for lang, words in (("en", "limited by computing"), ("zh", "受限于计算")):
        show(answer, lang)
        assert words in capsys.readouterr().out
