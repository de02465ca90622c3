"""The slowdown from calls and the time between them: by hand, against the simulator's truth, on real recordings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import stepscope
from stepscope.analysis.cluster.calls.spilled_rows import SpilledRows
from stepscope.analysis.cluster.plan import ParallelPlan, PlanDimension, PlanRank
from stepscope.analysis.cluster.slowdown.call_times import CallTimes
from stepscope.analysis.cluster.slowdown.event_windows import EventWindows
from stepscope.analysis.cluster.slowdown.of_calls import CallSlowdown
from stepscope.analysis.cluster.slowdown.rank_chain import (
    ENDS,
    STARTS,
    STARTS_BEHIND,
    STEP_ENDS,
    RankCalls,
    chain_of,
)
from stepscope.analysis.cluster.slowdown.types import Slowdown
from stepscope.analysis.foundation.intervals import Intervals
from stepscope.analysis.foundation.periods import Periods
from stepscope.simulate.scenario import FaultEntry, Host, Plan, Scenario, Workload
from stepscope.simulate.writing import simulate
from support.recordings import capture_of
from support.scenarios import small


def _array(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def _periods(ends: list[int], begins: int = 0) -> Periods:
    end = _array(*ends)
    start = np.concatenate((_array(begins), end[:-1]))
    return Periods(np.arange(len(ends)), start, end, start, end, np.ones(len(ends), np.bool_))


def _calls(*rows: tuple[int, int, int, int]) -> RankCalls:
    return RankCalls(*(_array(*column) for column in zip(*rows, strict=True)))


def test_a_rank_waits_only_for_calls_that_end_while_it_does_not_compute() -> None:
    """Call 0 ends under compute; call 1 is waited for from 30 to 40, and its 5 before 25 are idle of the rank's own."""
    computing = Intervals(_array(0, 25), _array(20, 30))
    chain = chain_of(_periods([40]), computing, _calls((0, 5, 15, 1), (1, 25, 40, 2)))
    assert chain.kind.tolist() == [STARTS, STARTS, ENDS, STEP_ENDS]
    assert chain.call.tolist() == [0, 1, 1, -1]
    assert chain.busy.tolist() == [5, 15, 5, 0]
    assert chain.gap.tolist() == [0, 5, 0, 0]


def test_a_call_queued_behind_another_starts_when_that_one_ends() -> None:
    """Both run under compute on one stream; the second starts 2 after the first has ended."""
    chain = chain_of(_periods([50]), Intervals(_array(0), _array(50)), _calls((0, 5, 15, 1), (1, 17, 30, 1)))
    assert chain.kind.tolist() == [STARTS, STARTS_BEHIND, STEP_ENDS]
    assert (chain.behind.tolist(), chain.gap.tolist(), chain.busy.tolist()) == ([-1, 0, -1], [0, 2, 0], [5, 0, 45])


def _two_ranks(computes: dict[int, int], steps: int = 4, shift: int = 0) -> tuple[CallTimes, EventWindows]:
    """Each rank computes, then both meet in a call of 2; the clock of rank 1 is ``shift`` off."""
    length = max(computes.values()) + 2
    windows, rows = EventWindows(steps), []
    for rank, computing in computes.items():
        zero = shift if rank else 0
        begins = np.arange(steps) * length + zero
        calls = [(step, int(begins[step]) + computing, int(begins[step]) + length, 7) for step in range(steps)]
        ends = (begins + length).tolist()
        windows.add(rank, chain_of(_periods(ends, zero), Intervals(begins, begins + computing), _calls(*calls)))
        rows += [(rank, call, arrival, end, stream) for call, arrival, end, stream in calls]
    names = {"rank": pl.Int32, "call": pl.Int64, "arrival_ns": pl.Int64, "end_ns": pl.Int64, "stream": pl.Int64}
    frame = pl.DataFrame(rows, schema=names, orient="row").sort("rank", "arrival_ns")
    transfer = np.full(steps, 2, np.int64)
    return CallTimes(SpilledRows(frame), pl.Series(["dp all_reduce"] * steps), transfer, transfer), windows


def _data_parallel(ranks: int) -> ParallelPlan:
    coordinates = {"tp": 0, "pp": 0, "ep": 0, "cp": 0}
    members = [PlanRank(rank=rank, host=None, device_index=None, dp=rank, **coordinates) for rank in range(ranks)]
    dimension = PlanDimension("dp", ranks, "stated", "stated", "stated")
    return ParallelPlan(ranks, "stated", "stated", [dimension], members, [])


@pytest.mark.parametrize("shift", [0, 1_000_000_007])
def test_two_ranks_by_hand(shift: int) -> None:
    """10 and 15 with a call of 2 take 17 a step; alike they would take 12.5 + 2. No clock matters."""
    calls, windows = _two_ranks({0: 1000, 1: 1500}, shift=shift)
    replays = CallSlowdown(_data_parallel(2), calls, windows)
    slowdown = replays.slowdown()
    assert (slowdown.measured_us, slowdown.replayed_us, slowdown.ideal_us) == (1.502, 1.502, 1.252)
    assert slowdown.replay_error_share == 0
    assert slowdown.total == pytest.approx(1502 / 1252)
    assert [each.rank for each in slowdown.by_rank] == [1, 0]
    assert slowdown.worst_ranks == [1]
    assert slowdown.worst_ranks_share == pytest.approx(1.0)
    assert {each.operation: each.slowdown for each in slowdown.by_operation} == pytest.approx(
        {"compute": 1502 / 1252, "idle": 1.0, "dp all_reduce": 1.0}
    )
    gains = replays.gains([[1], []])
    assert (gains.replayed_ns, gains.error_share) == (1502, 0)
    assert gains.saved_ns == pytest.approx([250, 0])


def _slowdown(scenario: Scenario, folder: Path) -> tuple[Slowdown, float]:
    truth = simulate(scenario, folder / "run", detail="steps").truth
    slowdown = stepscope.load(folder / "run").cluster().slowdown
    assert slowdown is not None
    return slowdown, truth["step_us"] / truth["step_without_faults_us"]


_TRANSFORMER = Workload(layers=4, hidden=2048, sequence=1024, batch=4, vocabulary=4096)


@pytest.mark.parametrize(
    ("plan", "fault", "operation"),
    [
        (Plan(dp=8), FaultEntry(kind="slow_rank", cause="compute", ranks=(5,)), "compute"),
        (Plan(dp=8), FaultEntry(kind="slow_rank", cause="host", ranks=(2,)), "idle"),
        (Plan(dp=2, tp=2, pp=2, micro_batches=4), FaultEntry(kind="slow_rank", ranks=(6,), cause="compute"), "compute"),
        (Plan(dp=2, tp=4), FaultEntry(kind="slow_link", links=((2, 6),), cause="link"), "dp all_reduce"),
    ],
)
def test_the_simulated_jobs_slowdown_is_found(tmp_path: Path, plan: Plan, fault: FaultEntry, operation: str) -> None:
    """The model ran again without the fault; the replay of the faulty run alone comes to the same."""
    job = small(plan=plan, faults=(fault,), steps=5, workload=_TRANSFORMER, host=Host(ranks=4))
    slowdown, truth = _slowdown(job, tmp_path)
    assert slowdown.replay_error_share < 0.005
    assert slowdown.total == pytest.approx(truth, rel=0.03)
    assert slowdown.by_operation[0].operation == operation
    if fault.kind == "slow_rank":
        assert slowdown.worst_ranks == list(fault.ranks)
        assert slowdown.worst_ranks_share is not None
        assert slowdown.worst_ranks_share > 0.8


def test_a_healthy_job_is_hardly_slowed(tmp_path: Path) -> None:
    """Noise makes somebody wait in every step, but less than the loss is worth dividing."""
    slowdown, _ = _slowdown(small(plan=Plan(dp=4, tp=2), steps=4), tmp_path)
    assert slowdown.total < 1.03
    assert not slowdown.straggling
    assert slowdown.worst_ranks_share is None


@pytest.mark.parametrize(("name", "slow"), [("four_ranks_cpu_slow_backward", 2), ("four_ranks_cuda_slow_compute", 2)])
def test_real_recordings_name_the_slow_rank(tmp_path: Path, name: str, slow: int) -> None:
    """One rank of four was slowed; the replay of what was recorded comes within 1 %."""
    slowdown = stepscope.load(capture_of(name, tmp_path), progress=False).cluster().slowdown
    assert slowdown is not None
    assert slowdown.replay_error_share < 0.01
    assert slowdown.worst_ranks == [slow]
    assert slowdown.worst_ranks_share is not None
    assert slowdown.worst_ranks_share > 0.8


def test_a_replay_that_misses_gives_no_slowdown(shared_data: Path) -> None:
    """One step, whose ranks began at different times, which nothing tells."""
    run = stepscope.load(shared_data / "outside/param_dlrm8", progress=False)
    answer = run.ask("cluster")
    assert answer.data.slowdown is None
    assert "replay_misses" in [note.code for note in answer.notes]
    assert len(answer.data.ranks) == 8
