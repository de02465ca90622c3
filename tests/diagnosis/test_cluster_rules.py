"""Rules on hosts, stages, sequences and clocks, with jobs made by hand."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from analysis.stores import make_store
from diagnosis.cases import context, judged, mean_step
from stepscope.analysis.cluster.calls.costs import CallCosts
from stepscope.analysis.cluster.calls.spilled_rows import SpilledRows
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.rhythm import in_which_steps
from stepscope.diagnosis.measures.outstanding import KnownSpread, standing_out
from stepscope.diagnosis.measures.own_time import CAUSES, OwnTime
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.diagnosis.ranking import ranked
from stepscope.diagnosis.rules.sequence_imbalance import correlation, cost_of_lengths, deviations, share_of_both

HOSTS = {0: "a", 1: "a", 2: "b", 3: "b"}


def _job(directory: Path, *times: RankTime, stages: bool = False) -> RunContext:
    """Two ranks on each host; or each host a stage of the pipeline."""
    ranks = [{"rank": rank, "host": host, "pp": "ab".index(host) if stages else None} for rank, host in HOSTS.items()]
    run = RunContext(make_store(directory, ranks=ranks))
    vars(run)["times"] = {time.rank: time for time in times}
    return run


def _slow(*slow: int) -> list[RankTime]:
    return [
        mean_step(rank, computing=60, communication=40)
        if rank in slow
        else mean_step(rank, computing=40, communication=60)
        for rank in HOSTS
    ]


def test_a_host_is_slow_when_all_of_its_ranks_are(tmp_path: Path) -> None:
    run = _job(tmp_path, *_slow(2, 3))
    (finding,) = judged("slow_host", run)
    assert (finding.where.host, finding.ranks, finding.cause) == ("b", [2, 3], "compute")
    assert (finding.gain_us, finding.gain_share) == (20.0, 0.2)
    assert judged("slow_rank", run) == []


def test_why_a_host_is_slow_is_reported_in_its_finding(tmp_path: Path) -> None:
    times = [
        mean_step(rank, computing=40, communication=30 if host == "b" else 60, idle={"host": 30 if host == "b" else 0})
        for rank, host in HOSTS.items()
    ]
    run = _job(tmp_path, *times)
    found = ranked([*judged("host_bound", run), *judged("slow_host", run)], run.times)
    assert [(finding.kind, finding.cause, finding.ranks) for finding in found] == [("slow_host", "host", [2, 3])]


def test_one_slow_rank_makes_no_slow_host(tmp_path: Path) -> None:
    run = _job(tmp_path, *_slow(3))
    assert judged("slow_host", run) == []
    (finding,) = judged("slow_rank", run)
    assert finding.ranks == [3]


def test_a_stage_that_computes_longer_is_named_and_no_rank_of_it(tmp_path: Path) -> None:
    run = _job(tmp_path, *_slow(2, 3), stages=True)
    (finding,) = judged("stage_imbalance", run)
    assert (finding.where.stage, finding.ranks, finding.gain_us) == (1, [2, 3], 20.0)
    assert judged("slow_host", run) == judged("slow_rank", run) == []


def test_stages_differ_by_the_accident_of_which_ranks_they_have(tmp_path: Path) -> None:
    # The slowest three of each stage are alike; only the quickest of one stage is less quick than that of the other.
    computing = {0: 80.0, 1: 90.0, 2: 90.0, 3: 90.0, 4: 88.0, 5: 90.0, 6: 90.0, 7: 90.0}
    assert judged("stage_imbalance", _two_stages(tmp_path / "alike", computing)) == []
    # Each rank of the second takes 8 of 100 longer than one of the first.
    computing = {0: 80.0, 1: 83.0, 2: 83.0, 3: 82.0, 4: 88.0, 5: 91.0, 6: 91.0, 7: 90.0}
    (finding,) = judged("stage_imbalance", _two_stages(tmp_path / "longer", computing))
    assert (finding.where.stage, finding.gain_us) == (1, 8.0)


def _two_stages(directory: Path, computing: dict[int, float]) -> RunContext:
    run = RunContext(make_store(directory, ranks=[{"rank": rank, "pp": rank // 4} for rank in computing]))
    steps = (mean_step(rank, computing=us, communication=100 - us) for rank, us in computing.items())
    vars(run)["times"] = {time.rank: time for time in steps}
    return run


@pytest.mark.parametrize(
    ("library", "hosts", "accused"),
    [
        ("gloo", "aaaa", []),
        ("gloo", [None] * 4, []),  # nobody recorded their hosts
        ("gloo", "aabb", [0, 1, 2, 3]),
        ("nccl", "aaaa", [0, 1, 2, 3]),
    ],
)
def test_packets_get_lost_only_on_a_network(
    tmp_path: Path, library: str, hosts: Sequence[str | None], accused: list[int]
) -> None:
    """In two of six steps a call that usually takes 10 us takes 110 us, and all wait for it."""
    steps = list(range(1, 7))
    members = [{"rank": rank, "host": host} for rank, host in enumerate(hosts)]
    named = [
        {"rank": rank, "slice": step, "group": "0", "name": f"{library}:all_reduce", "step": step}
        for rank in range(4)
        for step in steps
    ]
    run = RunContext(make_store(tmp_path, ranks=members, collectives=named))
    times = [replace(mean_step(rank, computing=50, communication=50), steps=steps) for rank in range(4)]
    rows = [
        {"complete": True, "rank": rank, "group": "0", "kind": "all_reduce", "step": step, "transfer_ns": took}
        for rank in range(4)
        for step, took in zip(steps, [10_000, 110_000, 10_000, 10_000, 110_000, 10_000], strict=True)
    ]
    calls = pl.DataFrame(rows).with_columns(exposed_transfer_ns="transfer_ns")
    costs = CallCosts(list(range(4)), SpilledRows(calls), SpilledRows())
    vars(run).update(times={time.rank: time for time in times}, calls=costs)
    assert [rank for finding in judged("retransmission", run) for rank in finding.ranks] == accused


def test_several_may_stand_out_and_what_is_usual_does_not() -> None:
    quiet = {rank: [100.0 + rank % 3, 101.0, 99.0] for rank in range(8)}
    assert standing_out(quiet, 100.0, 0.04) == {}
    assert set(standing_out(quiet | {3: [130.0] * 3, 5: [121.0] * 3}, 100.0, 0.04)) == {3, 5}


def test_where_members_differ_widely_only_what_is_large_stands_out() -> None:
    wide = {rank: [100.0 + 2.5 * rank] * 4 for rank in range(7)}
    assert standing_out(wide | {7: [119.0] * 4}, 100.0, 0.04).keys() == {7}
    assert standing_out(wide | {7: [116.0] * 4}, 100.0, 0.04) == {}


def test_two_can_be_judged_by_what_is_known_of_their_members() -> None:
    pair = {"a": [100.0] * 4, "b": [106.0] * 4}
    assert standing_out(pair, 100.0, 0.04) == {}
    assert standing_out(pair, 100.0, 0.04, KnownSpread(0.2, 8)) == {"b": 6.0}


#: Milliseconds that each host left its device idle, by step: a healthy job of four processes on two cores that thirty
#: others wanted, too.
_BUSY_MACHINE = {
    0: [2, 2, 3, 128, 15, 114, 26, 39, 3],
    1: [38, 8, 12, 15, 35, 125, 14, 93, 26],
    2: [261, 7, 96, 98, 49, 86, 3, 75, 53],
    3: [6, 85, 3, 310, 92, 760, 11, 82, 77],
}


@pytest.mark.parametrize(
    ("of_rank_3", "accused"),
    [
        (_BUSY_MACHINE[3], []),  # held by the scheduler, most of all in one step
        ([500.0 + idle for idle in _BUSY_MACHINE[3]], [3]),  # sleeps half a second in each step
        ([1500.0 * (step % 3 == 2) + idle for step, idle in enumerate(_BUSY_MACHINE[3])], [3]),  # in every third
    ],
)
def test_a_rank_that_a_busy_machine_held_in_some_steps_is_not_slow(
    tmp_path: Path, of_rank_3: list[float], accused: list[int]
) -> None:
    run = RunContext(make_store(tmp_path, ranks=[{"rank": rank} for rank in range(4)]))
    steps, idle = list(range(4, 13)), _BUSY_MACHINE | {3: of_rank_3}
    level = max(statistics.fmean(each) for each in idle.values())
    times = {}
    for rank, own in idle.items():
        host = 1000 * statistics.fmean(own)
        others = {"host": host, "collective": 1000 * level - host}
        times[rank] = replace(mean_step(rank, computing=300_000, communication=200_000, idle=others), steps=steps)
    own_times = {
        rank: OwnTime(steps, {"compute": [300_000.0] * 9, "data": [0.0] * 9, "host": [1000.0 * ms for ms in own]})
        for rank, own in idle.items()
    }
    vars(run).update(times=times, own_times=own_times)
    assert [rank for finding in judged("slow_rank", run) for rank in finding.ranks] == accused


def test_a_rank_that_is_slow_in_some_steps_is_so_whatever_ranks_differ_by(tmp_path: Path) -> None:
    # Ranks differ by 7 of 100 in all steps; one takes 20 more than its own other steps in every second one.
    steady = {0: 82.0, 2: 85.0, 3: 79.0}
    series = {rank: [level + step % 2 for step in range(6)] for rank, level in steady.items()}
    series[1] = [80.0, 100.0, 79.0, 101.0, 80.0, 100.0]
    (finding,) = judged("slow_rank", _by_steps(tmp_path, {rank: {"compute": own} for rank, own in series.items()}))
    assert (finding.ranks, finding.cause, finding.steps) == ([1], "compute", [1, 3, 5])


def test_the_cause_is_what_a_rank_stands_out_by(tmp_path: Path) -> None:
    # It computes 8 longer than the mean of two that differ by 4 themselves, but only it waits for data, 6 of 100.
    parts = {0: {"compute": [93.0] * 4, "data": [6.0] * 4}, 1: {"compute": [87.0] * 4}, 2: {"compute": [83.0] * 4}}
    (finding,) = judged("slow_rank", _by_steps(tmp_path, parts))
    assert (finding.ranks, finding.cause, finding.gain_us) == ([0], "data", 6.0)


def test_ranks_that_change_much_from_step_to_step_make_no_slow_host(tmp_path: Path) -> None:
    # Host b takes 10 longer in each step, but each of its ranks changes by 30 from step to step, as those of a do: a
    # mean of four steps of two ranks may be off by 4 x 30 / sqrt(8), which is 42.
    series = {0: [20.0, 80.0] * 2, 1: [80.0, 20.0] * 2, 2: [30.0, 90.0] * 2, 3: [90.0, 30.0] * 2}
    run = _by_steps(tmp_path, {rank: {"compute": own} for rank, own in series.items()})
    vars(run)["host_of"] = HOSTS
    assert judged("slow_host", run) == []


def _by_steps(directory: Path, parts: dict[int, dict[str, list[float]]]) -> RunContext:
    """Ranks that need so long for each cause in each step; everybody waits for the latest, in steps of 100."""
    count = len(parts[0]["compute"])
    own = {
        rank: OwnTime(list(range(count)), {cause: causes.get(cause, [0.0] * count) for cause in CAUSES})
        for rank, causes in parts.items()
    }
    whole = {rank: statistics.fmean(each.whole) for rank, each in own.items()}
    run = context(directory, *(mean_step(rank, computing=us, communication=100 - us) for rank, us in whole.items()))
    latest = max(whole, key=lambda rank: whole[rank])
    vars(run).update(own_times=own, delays={rank: [20.0 * (rank == latest)] * count for rank in own})
    return run


def test_what_only_one_phase_changes_by_is_no_matter_of_lengths() -> None:
    lengths = {0: [1.0, -1.0, 0.0, 0.0], 1: [-1.0, 1.0, 0.0, 0.0]}
    assert share_of_both(lengths, lengths) == pytest.approx(1.0)
    assert share_of_both(lengths, {0: [0.0, 0.0, 1.0, -1.0], 1: [0.0, 0.0, -1.0, 1.0]}) == pytest.approx(0.0)
    # Correlated by 0.8: split halves have 2 x 0.8 / (1 + 0.8) of their variance in common (Spearman and Brown).
    half = {0: [2.0, 1.0, -1.0, -2.0]}
    assert share_of_both(half, {0: [1.0, 2.0, -2.0, -1.0]}) == pytest.approx(1.6 / 1.8)


def test_lengths_that_few_steps_do_not_even_out_cost_what_they_cost() -> None:
    # Six equal ranks whose lengths differ by chance, in many runs of twelve steps. Without them all take 100.
    chance, told, true = random.Random(5), [], []
    for _ in range(500):
        times = {rank: [100 + 10 * chance.gauss(0, 1) for _ in range(12)] for rank in range(6)}
        told.append(cost_of_lengths(times, 1.0))
        true.append(statistics.fmean(map(max, zip(*times.values(), strict=True))) - 100)
    assert statistics.fmean(told) == pytest.approx(statistics.fmean(true), rel=0.1)


def test_lengths_change_forward_and_backward_alike() -> None:
    forward = {0: [10.0, 14.0, 9.0], 1: [13.0, 8.0, 12.0]}
    alike = {rank: [2 * time + 5 for time in series] for rank, series in forward.items()}
    assert correlation(deviations(forward), deviations(alike)) == pytest.approx(1.0)
    assert correlation(deviations(forward), deviations({0: [1.0, 1.0, 1.0], 1: [2.0, 2.0, 2.0]})) == 0.0


@pytest.mark.parametrize(
    ("slow", "words"), [([1, 2, 3, 4], ""), ([3, 4], ", from step 3 on"), ([1, 3], ", in 2 of 4 steps")]
)
def test_the_title_says_in_which_steps(slow: list[int], words: str) -> None:
    told = in_which_steps(slow, [1, 2, 3, 4])
    assert (told if isinstance(told, str) else told.en) == words


@pytest.mark.parametrize(("offset_ms", "accused"), [(-250, ["b"]), (-5, [])])
def test_a_clock_that_nobody_keeps_is_reported(tmp_path: Path, offset_ms: int, accused: list[str]) -> None:
    about = {"a": ("reference", None), "b": ("aligned", offset_ms * 10**6)}
    ranks = [
        {
            "rank": rank,
            "host": host,
            "first_ns": 0,
            "clock_state": about[host][0],
            "clock_offset_ns": about[host][1],
            "clock_drift_ppb": 0,
            "clock_error_ns": 5000,
            "clock_calls": 60,
        }
        for rank, host in HOSTS.items()
    ]
    run = RunContext(make_store(tmp_path, ranks=ranks))
    assert [finding.where.host for finding in judged("clock_skew", run)] == accused
