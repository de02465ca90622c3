"""Rules on several ranks: who is waited for, and communication that nothing hides."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.stores import make_store
from diagnosis.cases import context, judged, mean_step
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.waits import waits_as_proof
from stepscope.diagnosis.measures.own_time import OwnTime
from stepscope.diagnosis.measures.rank_time import Spread
from stepscope.diagnosis.ranking import ranked


def test_the_rank_that_computes_longer_and_waits_less_is_slow(tmp_path: Path) -> None:
    times = [mean_step(rank, computing=20, communication=80) for rank in (0, 1, 3)]
    (finding,) = judged("slow_rank", context(tmp_path, *times, mean_step(2, computing=50, communication=50)))
    assert (finding.ranks, finding.cause, finding.severity) == ([2], "compute", "critical")
    assert (finding.gain_us, finding.gain_share) == (30.0, 0.3)
    assert "ranks 0, 1, 3" in finding.title.en.lower() and "rank 2" in finding.title.en


@pytest.mark.parametrize(("idle", "cause"), [("data", "data"), ("host", "host"), ("gc", "host"), ("sync", "host")])
def test_a_rank_is_slow_for_want_of_data_or_for_its_host(tmp_path: Path, idle: str, cause: str) -> None:
    late = mean_step(1, computing=20, communication=40, idle={idle: 40.0})
    (finding,) = judged("slow_rank", context(tmp_path, mean_step(0, computing=20, communication=80), late))
    assert (finding.ranks, finding.cause, finding.gain_us) == ([1], cause, 40.0)


def test_computing_tells_where_hosts_change_much_from_step_to_step(tmp_path: Path) -> None:
    # Hosts are held up by something else in every other step: beside that, 20 more of the whole may be an accident.
    computing, waits = {0: 20.0, 1: 20.0, 2: 40.0}, {0: (0.0, 60.0), 1: (0.0, 60.0), 2: (60.0, 0.0)}
    run = context(tmp_path, *(mean_step(rank, computing=us, idle={"host": 30.0}) for rank, us in computing.items()))
    steps = list(range(10))
    own = {
        rank: OwnTime(steps, {"compute": [us] * 10, "data": [0.0] * 10, "host": [*waits[rank]] * 5})
        for rank, us in computing.items()
    }
    vars(run).update(own_times=own, delays={0: [0.0] * 10, 1: [0.0] * 10, 2: [20.0] * 10})
    (finding,) = judged("slow_rank", run)
    assert (finding.ranks, finding.cause, finding.gain_us) == ([2], "compute", 20.0)


def test_where_every_rank_is_slow_in_its_own_way_the_longest_is_to_blame(tmp_path: Path) -> None:
    computes = mean_step(0, computing=80, communication=20)
    launches_late = mean_step(1, computing=20, communication=60, idle={"host": 20.0})
    (finding,) = judged("slow_rank", context(tmp_path / "longest", computes, launches_late))
    assert (finding.ranks, finding.cause) == ([0], "compute")
    assert finding.gain_us == 40.0  # 80 of its own against 20 + 20
    as_long = mean_step(0, computing=40, communication=60)
    assert judged("slow_rank", context(tmp_path / "alike", as_long, launches_late)) == []


def test_even_ranks_and_ranks_that_wait_for_nobody_are_not_slow(tmp_path: Path) -> None:
    even = [mean_step(rank, computing=50, communication=50 + rank) for rank in range(4)]
    assert judged("slow_rank", context(tmp_path / "even", *even)) == []
    alone = [mean_step(0, computing=50), mean_step(1, computing=100)]
    assert judged("slow_rank", context(tmp_path / "alone", *alone)) == []


def test_stages_of_a_pipeline_are_not_compared_with_each_other(tmp_path: Path) -> None:
    times = {0: mean_step(0, computing=20, communication=80), 1: mean_step(1, computing=80, communication=20)}
    store = make_store(tmp_path, ranks=[{"rank": 0, "pp": 0}, {"rank": 1, "pp": 1}])
    run = RunContext(store)
    vars(run)["times"] = times
    assert judged("slow_rank", run) == []


def _with_waits(directory: Path, waits: dict[int, float]) -> RunContext:
    """Rank 0 waits for its peers, in microseconds per step."""
    rows = [{"peer": peer, "kind": "wait", "step": 1, "time_ns": round(us * 4 * 1000)} for peer, us in waits.items()]
    run = RunContext(make_store(directory, transfers=rows))
    vars(run)["times"] = {0: mean_step(0, computing=20, communication=80)}  # of four steps
    return run


def test_an_absent_rank_is_named_where_waits_were_recorded(tmp_path: Path) -> None:
    run = _with_waits(tmp_path, {5: 70.0, 6: 1.0})
    (finding,) = judged("slow_rank", run)
    assert (finding.ranks, finding.cause, finding.gain_us) == ([5], "not_captured", 70.0)
    assert [proof.rank for proof in finding.proof] == [0]
    assert finding.next_commands == ["summary", "steps"]


def test_the_proof_is_the_longest_wait_and_what_the_slow_rank_did_meanwhile(tmp_path: Path) -> None:
    # One call, which ends at 1,000 for all. Ranks 0 and 1 came 300 and 250 before rank 2, whose clock is 5,000 ahead.
    arrivals = {0: 600, 1: 650, 2: 900}
    ahead = {0: 0, 1: 0, 2: 5_000}
    rows = [
        {
            "rank": rank,
            "slice": 10 + rank,
            "group": "all",
            "kind": "all_reduce",
            "seq": 1,
            "step": 1,
            "start_ns": came + ahead[rank],
            "end_ns": 1_000 + ahead[rank],
        }
        for rank, came in arrivals.items()
    ]
    run = RunContext(make_store(tmp_path, ranks=[{"rank": rank} for rank in arrivals], collectives=rows))
    proof = waits_as_proof(run, 2, [0, 1])
    assert [(each.rank, each.slices, each.start_ns, each.end_ns) for each in proof] == [
        (2, [], 5_600, 5_900),
        (0, [10], 600, 900),
        (1, [11], 650, 900),
    ]


def test_a_wait_behind_which_the_others_compute_is_no_proof_beside_one_that_holds_them_up(tmp_path: Path) -> None:
    # Two calls. In the first, rank 0 waits for 500, and computes beside it for 480; in the second for 200, and idles.
    rows = [
        {"rank": rank, "slice": number, "group": "all", "kind": "all_reduce", "seq": seq, "step": 1} | span
        for seq, calls in enumerate(
            [
                {0: {"start_ns": 100, "end_ns": 700}, 1: {"start_ns": 600, "end_ns": 700}},
                {0: {"start_ns": 800, "end_ns": 1100}, 1: {"start_ns": 1000, "end_ns": 1100}},
            ]
        )
        for rank, span in calls.items()
        for number in [10 * seq]
    ]
    kernel = {"rank": 0, "slice": 99, "track": 0, "row": 0, "kind": "kernel", "start_ns": 110, "dur_ns": 480, "step": 1}
    stream = {"rank": 0, "track": 0, "kind": "stream", "name": "stream 7"}
    run = RunContext(
        make_store(
            tmp_path,
            ranks=[{"rank": 0, "device_kind": "gpu"}, {"rank": 1}],
            collectives=rows,
            slices=[kernel],
            tracks=[stream],
        )
    )
    proof = waits_as_proof(run, 1, [0])
    assert [(each.rank, each.start_ns, each.end_ns) for each in proof] == [(1, 800, 1000), (0, 800, 1000)]


def test_waits_for_many_peers_in_turn_accuse_none(tmp_path: Path) -> None:
    assert judged("slow_rank", _with_waits(tmp_path, dict.fromkeys(range(1, 8), 10.0))) == []


@pytest.mark.parametrize(("communication", "severities"), [(0, []), (10, []), (12, ["warning"])])
def test_communication_counts_from_a_tenth_of_the_step(
    tmp_path: Path, communication: float, severities: list[str]
) -> None:
    run = context(tmp_path, mean_step(computing=100 - communication, communication=communication))
    assert [finding.severity for finding in judged("exposed_communication", run)] == severities


@pytest.mark.parametrize(("transit", "cause"), [(10, "waiting"), (60, "transfer"), (None, "not_hidden")])
def test_waiting_and_sending_are_told_apart(tmp_path: Path, transit: int | None, cause: str) -> None:
    rows = [{"slice": 7, "step": 1, "start_ns": 0, "end_ns": 80, "transit_ns": transit}]
    run = RunContext(make_store(tmp_path, collectives=rows))
    vars(run)["times"] = {0: mean_step(0, computing=20, communication=80)}
    (finding,) = judged("exposed_communication", run)
    assert finding.cause == cause
    assert [(proof.slices, proof.start_ns, proof.end_ns) for proof in finding.proof] == [([7], 0, 80)]


def test_a_slow_rank_explains_what_the_others_wait(tmp_path: Path) -> None:
    times = [mean_step(rank, computing=20, communication=80) for rank in (0, 1, 3)]
    run = context(tmp_path, *times, mean_step(2, computing=98, communication=2))
    found = ranked([*judged("exposed_communication", run), *judged("slow_rank", run)], run.times)
    assert [(finding.kind, finding.ranks) for finding in found] == [("slow_rank", [2])]


def test_causes_of_idle_time_are_apart_and_go_by_cost(tmp_path: Path) -> None:
    run = context(tmp_path, mean_step(computing=60, idle={"data": 10, "host": 30}))
    found = ranked([*judged("data_starved", run), *judged("host_bound", run)], run.times)
    assert [(finding.kind, finding.gain_us) for finding in found] == [("host_bound", 30.0), ("data_starved", 10.0)]


def test_long_steps_that_wait_for_data_belong_to_the_finding_on_data(tmp_path: Path) -> None:
    spread = Spread(usual_us=80.0, longest_us=120.0, long_steps=[2, 4], rhythm=2, idle_share={"data": 1.0})
    run = context(tmp_path, mean_step(computing=80, idle={"data": 20}, spread=spread))
    found = ranked([*judged("step_jitter", run), *judged("data_starved", run)], run.times)
    assert [finding.kind for finding in found] == ["data_starved"]


def test_idle_time_that_all_steps_have_explains_no_long_ones(tmp_path: Path) -> None:
    # Steps of 60 and 140 us, each idle for half of its time: what long ones have more of it is 40 us, 20 a mean step.
    spread = Spread(usual_us=60.0, longest_us=140.0, long_steps=[2, 4], rhythm=2, idle_share={"host": 0.7})
    run = context(tmp_path, mean_step(computing=50, idle={"host": 50}, spread=spread))
    found = ranked([*judged("step_jitter", run), *judged("host_bound", run)], run.times)
    assert [(finding.kind, finding.gain_us) for finding in found] == [
        ("host_bound", 50.0),
        ("step_jitter", pytest.approx(20.0)),
    ]


def test_the_reason_stands_before_what_is_left_of_its_effect(tmp_path: Path) -> None:
    times = [mean_step(rank, computing=10, communication=90) for rank in (0, 1, 3)]
    run = context(tmp_path, *times, mean_step(2, computing=40, communication=60))
    found = ranked([*judged("exposed_communication", run), *judged("slow_rank", run)], run.times)
    assert [finding.kind for finding in found] == ["slow_rank", "exposed_communication"]
    # On the mean the ranks spend 82.5 us in communication, of which a slow rank explains 30.
    assert [finding.gain_us for finding in found] == [30.0, 52.5]


def test_evidence_of_several_ranks_is_their_mean_as_the_gain_is(tmp_path: Path) -> None:
    times = [
        mean_step(rank, computing=60, communication=share, idle={"host": 40.0 - share})
        for rank, share in ((0, 30), (1, 12))
    ]
    (finding,) = judged("exposed_communication", context(tmp_path, *times))
    assert [(entry.metric, entry.value) for entry in finding.evidence] == [("exposed_communication_share", 0.21)]
    assert finding.gain_us == 21.0
