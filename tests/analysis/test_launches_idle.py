"""What the device waited for: gaps made by hand, and all of idle time against a count of nanoseconds one by one."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis.launch_cases import BACKWARD, HELPER, LOOP, OTHER_STREAM, STREAM, US, Case
from stepscope.analysis.launches import launches
from stepscope.analysis.launches.types import Gap, Idle
from stepscope.analysis.steps import steps

_CAUSES = ("data", "host", "sync", "gc", "collective", "dependency", "profiler", "unknown")


def _only_gap(case: Case, tmp_path: Path) -> tuple[Gap, Idle]:
    found = launches(case.store(tmp_path)).data
    gaps = [gap for gap in found.gaps if not gap.lead]
    assert len(gaps) == 1
    return gaps[0], found.idle[0]


def _two_kernels(gap_start: float, launch: float, gap_end: float) -> Case:
    """A kernel up to ``gap_start``, another from ``gap_end``, launched at ``launch``."""
    case = Case()
    case.step(1, 0, gap_end + 200)
    case.launch((1, 5), (10, gap_start), name="first")
    case.launch((launch, launch + 5), (gap_end, gap_end + 50), name="second")
    return case


def test_a_late_launch_is_the_hosts_fault_and_the_gap_names_its_neighbours(tmp_path: Path) -> None:
    case = _two_kernels(100, 190, 200)
    operator = case.slice("aten::index", "operator", 105, 188, step=1)
    gap, idle = _only_gap(case, tmp_path)
    assert (gap.start_ns, gap.duration_us, gap.cause, gap.cause_us) == (100 * US, 100.0, "host", 100.0)
    assert (gap.activity, gap.activity_us) == ("operator", 83.0)
    assert (gap.host_slice, gap.host_name) == (operator, "aten::index")
    assert (gap.previous_name, gap.next_name, gap.sync_slice) == ("first", "second", None)
    assert (idle.host_us, idle.after_sync_us) == (110.0, 0.0), "and 10 us before the first kernel"


def test_a_launch_that_takes_long_is_the_hosts_until_it_returns(tmp_path: Path) -> None:
    """The call began before the device ran dry at 100, and returned at 380; 120 us later the kernel began."""
    case = Case()
    case.step(1, 0, 700)
    case.launch((1, 5), (10, 100), name="first")
    case.launch((95, 380), (500, 550), name="second")
    gap, idle = _only_gap(case, tmp_path)
    assert (gap.cause, gap.cause_us) == ("host", 280.0)
    assert (idle.host_us, idle.unknown_us, idle.dependency_us) == (10.0 + 280.0, 120.0, 0.0)


def test_a_call_that_has_launched_other_work_before_has_done_its_part(tmp_path: Path) -> None:
    """A graph: its first kernel ran while the call was at it, and its second one waits for something else."""
    case = Case()
    case.step(1, 0, 700)
    case.launch((1, 400), (10, 100), (300, 350), name="node")
    gap, idle = _only_gap(case, tmp_path)
    assert (gap.cause, gap.cause_us, idle.host_us, idle.unknown_us) == ("unknown", 200.0, 10.0, 200.0)


def test_a_gap_that_began_under_a_synchronisation_is_reported(tmp_path: Path) -> None:
    case = _two_kernels(100, 190, 200)
    sync = case.slice("cudaStreamSynchronize", "runtime", 20, 103, step=1)
    python = case.slice("train.py(12): log", "python", 103, 190, step=1)
    found = launches(case.store(tmp_path)).data
    gap = next(gap for gap in found.gaps if not gap.lead)
    assert (gap.cause, gap.sync_slice, gap.sync_name) == ("host", sync, "cudaStreamSynchronize")
    assert (gap.activity, gap.host_slice) == ("other", python)
    # It returned 3 us late, and kept the host from a launch of 5 us; the 92 us in between are the script's own.
    idle = found.idle[0]
    assert (idle.sync_us, idle.after_sync_us, idle.host_us) == (8.0, 8.0, 10.0 + 92.0)
    (row,) = found.syncs
    assert (row.step, row.name, row.count, row.total_us, row.max_us, row.idle_us) == (
        1,
        "cudaStreamSynchronize",
        1,
        83.0,
        83.0,
        8.0,
    )


def test_idle_time_behind_a_synchronisation_is_not_charged_to_a_later_one_that_had_nothing_to_wait_for(
    tmp_path: Path,
) -> None:
    case = Case()
    case.step(1, 0, 400)
    case.launch((1, 5), (10, 100), name="first")
    case.slice("cudaStreamSynchronize", "runtime", 20, 103, step=1)
    case.launch((106, 110), (112, 150), name="second")
    case.slice("cudaEventSynchronize", "runtime", 140, 146, step=1)  # what it asks for was done long ago
    case.slice("aten::mm", "operator", 147, 178, step=1)
    case.launch((178, 180), (182, 300), name="third")
    idle_us = {row.name: row.idle_us for row in launches(case.store(tmp_path)).data.syncs}
    assert idle_us["cudaEventSynchronize"] == 0
    assert idle_us["cudaStreamSynchronize"] > 3  # its late return, and launching that it held up


def test_the_inner_layer_of_a_synchronisation_is_not_counted_again(tmp_path: Path) -> None:
    case = _two_kernels(100, 190, 200)
    case.slice("AscendCL@aclrtSynchronizeStream", "runtime", 20, 103, step=1)
    case.slice("Runtime@StreamSynchronize", "runtime", 21, 102, step=1)
    (row,) = launches(case.store(tmp_path)).data.syncs
    assert (row.name, row.count, row.total_us) == ("AscendCL@aclrtSynchronizeStream", 1, 83.0)


def test_time_in_the_data_loader_is_waiting_for_data_and_the_rest_for_the_host(tmp_path: Path) -> None:
    case = _two_kernels(100, 190, 200)
    loader = case.slice("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "annotation", 110, 180, step=1)
    case.slice("cudaStreamSynchronize", "runtime", 120, 170, step=1)
    gap, idle = _only_gap(case, tmp_path)
    assert (gap.cause, gap.cause_us, gap.activity) == ("data", 70.0, "data_loading")
    assert (idle.data_us, idle.host_us) == (70.0, 10.0 + 30.0)
    assert gap.host_slice == loader, "the synchronisation inside it covers only half of the gap"


def test_a_pause_of_the_garbage_collector_is_reported_with_the_idle_time_in_it(tmp_path: Path) -> None:
    case = _two_kernels(100, 190, 200)
    outer = case.slice("Python GC", "gc", 60, 185, track=HELPER, step=1)
    case.slice("Python GC", "gc", 70, 80, track=HELPER, step=1)
    found = launches(case.store(tmp_path)).data
    (pause,) = found.gc_pauses
    assert (pause.slice, pause.step, pause.start_ns, pause.duration_us, pause.idle_us) == (
        outer,
        1,
        60 * US,
        125.0,
        85.0,
    )


def test_what_the_profiler_took_is_its_own_cause_on_whatever_thread_it_was_recorded(tmp_path: Path) -> None:
    case = _two_kernels(100, 190, 200)
    case.slice("Activity Buffer Request", "overhead", 110, 170, track=HELPER, step=1)
    case.slice("Lazy Function Loading", "overhead", 170, 180, track=LOOP, step=1)
    gap, idle = _only_gap(case, tmp_path)
    assert (gap.cause, gap.cause_us, gap.activity) == ("profiler", 60.0, "profiler")
    assert (idle.profiler_us, idle.host_us) == (60.0, 10.0 + 40.0)


def test_garbage_collection_while_the_device_waits_is_a_cause_of_its_own(tmp_path: Path) -> None:
    case = _two_kernels(100, 190, 200)
    case.slice("Python GC", "gc", 60, 160, step=1)
    gap, idle = _only_gap(case, tmp_path)
    assert (gap.cause, gap.cause_us, idle.gc_us, idle.host_us) == ("gc", 60.0, 60.0, 10.0 + 40.0)


def test_a_host_that_waits_for_other_ranks_waits_for_a_collective(tmp_path: Path) -> None:
    case = _two_kernels(100, 190, 200)
    case.slice("c10d::barrier", "operator", 105, 185, step=1)
    case.slice("cudaStreamSynchronize", "runtime", 110, 180, step=1)
    gap, idle = _only_gap(case, tmp_path)
    assert (gap.cause, gap.cause_us, gap.activity) == ("collective", 80.0, "collective")
    assert (idle.collective_us, idle.host_us) == (80.0, 10.0 + 20.0)


@pytest.mark.parametrize(
    ("gap_end", "name", "cause"),
    [(129.999, "second", "dependency"), (130, "second", "unknown"), (130, "ncclDevKernel_AllGather", "collective")],
)
def test_work_that_was_launched_in_time_divides_by_length_and_by_its_neighbours(
    tmp_path: Path, gap_end: float, name: str, cause: str
) -> None:
    case = Case()
    case.step(1, 0, 500)
    case.launch((0, 5), (10, 100))
    kind = "collective" if name.startswith("nccl") else "kernel"
    case.launch((90, 99), (gap_end, 200), name=name, kind=kind, stream=OTHER_STREAM)
    gap, _ = _only_gap(case, tmp_path)
    assert (gap.cause, gap.cause_us) == (cause, gap.duration_us)


def test_a_device_that_waits_for_its_batch_waits_for_data(tmp_path: Path) -> None:
    case = _two_kernels(100, 50, 200)
    case.slice("GetNext_dequeue_wait", "wait", 120, 180, track=OTHER_STREAM, step=1, phase="data")
    found = launches(case.store(tmp_path)).data
    assert (found.idle[0].data_us, found.idle[0].unknown_us) == (60.0, 40.0)
    (fetch,) = found.get_next
    assert (fetch.count, fetch.total_us, fetch.overlapped_us, fetch.flagged) == (1, 60.0, 0.0, True)


def test_a_fetch_beside_compute_is_fine(tmp_path: Path) -> None:
    case = _two_kernels(100, 50, 110)
    case.slice("Default/GetNext-op1", "kernel", 60, 130, track=OTHER_STREAM, step=1)
    (fetch,) = launches(case.store(tmp_path)).data.get_next
    assert (fetch.total_us, fetch.overlapped_us, fetch.flagged) == (70.0, 60.0, False)


def test_a_thread_that_shows_nothing_refers_to_the_training_loop(tmp_path: Path) -> None:
    # The backward thread launches, but it was the loop that was busy loading data before.
    case = Case()
    case.step(1, 0, 500)
    case.launch((0, 5), (10, 100))
    case.slice("enumerate(DataLoader)#X.__next__", "annotation", 100, 180, track=LOOP, step=1)
    case.launch((195, 199), (200, 210), thread=BACKWARD)
    gap, _ = _only_gap(case, tmp_path)
    assert (gap.cause, gap.cause_us, gap.activity) == ("data", 80.0, "data_loading")


def test_a_step_begins_where_the_work_of_the_step_before_ended(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 200)
    case.launch((0, 5), (10, 250))
    case.step(2, 200, 500)
    case.launch((390, 395), (400, 450), step=2)
    first, second = launches(case.store(tmp_path)).data.idle
    assert (first.lead_us, first.free_us, first.idle_us) == (10.0, 0.0, 10.0)
    assert (second.lead_us, second.free_us, second.idle_us, second.span_us) == (150.0, 0.0, 150.0, 200.0)


def test_work_of_another_step_inside_a_step_is_no_idle_time(tmp_path: Path) -> None:
    case = Case()
    case.step(1, 0, 200)
    case.launch((0, 5), (10, 100))
    case.launch((20, 25), (300, 400), stream=OTHER_STREAM)
    case.step(2, 200, 500)
    case.launch((205, 208), (210, 260), step=2)
    first, second = launches(case.store(tmp_path)).data.idle
    assert (first.free_us, first.other_step_us, first.idle_us) == (200.0, 50.0, 10.0 + 150.0)
    assert (second.lead_us, second.free_us, second.idle_us) == (0.0, 0.0, 0.0)


def _random_run(seed: int, shortest: int) -> Case:
    chance = random.Random(seed)
    case = Case()
    clock, device = 0.0, {STREAM: 0.0, OTHER_STREAM: 0.0}
    for step in range(1, 5):
        begin = clock
        end = begin + chance.randint(300, 600)
        case.step(step, begin, end)
        while clock < end - 40:
            spent = chance.choice(["op", "data", "sync", "nothing", "barrier"])
            stop = clock + chance.randint(1, 30)
            name = {
                "data": "enumerate(DataLoader)#X.__next__",
                "sync": "cudaStreamSynchronize",
                "barrier": "c10d::barrier",
            }
            if spent != "nothing":
                kind = {"op": "operator", "barrier": "operator", "data": "annotation"}.get(spent, "runtime")
                case.slice(name.get(spent, "aten::add"), kind, clock, stop, step=step)
            clock = stop
            stream = chance.choice([STREAM, STREAM, OTHER_STREAM])
            start = max(device[stream], clock + chance.randint(0, 5) + chance.choice([0, 0, 40]))
            device[stream] = start + chance.randint(shortest, 25)
            known = chance.random() < 0.8
            made = case.launch((clock, clock + 2), (start, device[stream]), step=step, stream=stream)
            if not known:
                case.links.pop()
            if chance.random() < 0.2:
                case.slices[made[1]] |= {"kind": "collective", "name": "ncclKernel"}
            clock += 2
        clock = end
    return case


@pytest.mark.parametrize("seed", range(6))
def test_idle_time_is_what_a_count_of_all_microseconds_gives(tmp_path: Path, seed: int) -> None:
    case = _random_run(seed, shortest=0)
    store = case.store(tmp_path)
    found = {row.step: row for row in launches(store).data.idle}
    trace = {row["step"]: row for row in steps(store).data.iter_rows(named=True)}
    work = [row for row in case.slices if row["kind"] in ("kernel", "collective")]
    horizon = max(row["start_ns"] + row["dur_ns"] for row in case.slices) // US + 1
    busy = np.zeros(horizon, bool)
    for entry in work:
        busy[entry["start_ns"] // US : (entry["start_ns"] + entry["dur_ns"]) // US] = True
    reached = 0
    for step, row in found.items():
        own = [other for other in work if other["step"] == step]
        end = max(reached, max(other["start_ns"] + other["dur_ns"] for other in own) // US)
        idle = int((~busy[reached:end]).sum())
        reached = end
        assert row.idle_us == idle
        assert row.idle_us == sum(getattr(row, f"{cause}_us") for cause in _CAUSES)
        assert row.idle_us == row.free_us + row.lead_us - row.other_step_us
        assert row.free_us == trace[step]["free_us"]


@pytest.mark.parametrize("seed", range(6))
def test_causes_are_those_that_a_walk_from_gap_to_gap_finds(tmp_path: Path, seed: int) -> None:
    case = _random_run(seed, shortest=1)
    expected = dict.fromkeys(_CAUSES, 0)
    calls = {link["to_slice"]: case.slices[link["from_slice"]] for link in case.links}
    work = sorted(
        (row for row in case.slices if row["kind"] in ("kernel", "collective")), key=lambda row: row["start_ns"]
    )
    reach, last = 0, None
    lead = _Lead(case)
    for place, row in enumerate(work):
        start, end = reach, row["start_ns"]
        lead.step_is(row["step"], reach)
        if end > start:
            together = [other for other in work[place:] if other["start_ns"] == end]
            following = next((other for other in together if other["slice"] in calls), row)
            call = calls.get(following["slice"])
            if call is not None and call["start_ns"] > start:
                data, collective = (_time_of(case, word, start, end) for word in ("DataLoader", "barrier"))
                launching = sum(_time_of(case, word, start, end) for word in ("cudaLaunchKernel", "aten::add"))
                sync = _time_of(case, "Synchronize", start, end) + lead.used(start, end, launching)
                expected["data"] += data
                expected["collective"] += collective
                expected["sync"] += sync
                expected["host"] += end - start - data - collective - sync
            else:
                data = 0 if call is not None else _time_of(case, "DataLoader", start, end)
                beside = "collective" in (following["kind"], last["kind"] if last else "")
                expected["data"] += data
                if call is not None and end - start >= 30 * US:  # it may still have been at it
                    still = max(call["start_ns"] + call["dur_ns"] - start, 0)
                    sync = lead.used(start, start + still, still) if still else 0
                    expected["sync"] += sync
                    expected["host"] += still - sync
                    start += still
                cause = "dependency" if end - start < 30 * US else "collective" if beside else "unknown"
                expected[cause] += end - start - data
        if row["start_ns"] + row["dur_ns"] >= reach:
            reach, last = row["start_ns"] + row["dur_ns"], row
    idle = pl.DataFrame(
        [{name: getattr(row, f"{name}_us") for name in _CAUSES} for row in launches(case.store(tmp_path)).data.idle]
    )
    # Steps follow each other on the device here, so that none shares a gap with another.
    assert {name: round(idle[name].sum() * US) for name in _CAUSES} == expected


class _Lead:
    """By how much the host would be ahead without the blocking calls of this step and the one before, as a ledger."""

    def __init__(self, case: Case) -> None:
        self.case, self.step, self.since = case, 0, 0
        self.begin, self.begin_before = 0, 0
        self.whole, self.of_this_step = 0, 0

    def step_is(self, step: int, begin: int) -> None:
        if step != self.step:
            self.step, self.begin_before, self.begin = step, self.begin, begin
            self.whole, self.of_this_step = self.of_this_step, 0

    def used(self, start: int, end: int, launching: int) -> int:
        held = _time_of(self.case, "Synchronize", max(self.since, self.begin_before), start)
        self.since = end
        spent = min(self.whole + held, launching)
        self.whole = self.whole + held - spent
        self.of_this_step = max(self.of_this_step + held - launching, 0)
        return spent


def _time_of(case: Case, word: str, start: int, end: int) -> int:
    rows = [row for row in case.slices if word in row["name"]]
    return sum(max(0, min(end, row["start_ns"] + row["dur_ns"]) - max(start, row["start_ns"])) for row in rows)
