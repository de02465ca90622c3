"""``slow_rank``: the others wait in communication for one rank, which comes late."""

from __future__ import annotations

import statistics
from typing import Final

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence import number
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.diagnosis.lateness import late_ranks
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.measures import RankTime
from stepscope.diagnosis.rule import Rule
from stepscope.diagnosis.words import rank_names
from stepscope.facts.findings import finding_facts

_TITLES: Final = {
    "compute": "finding_title.slow_rank_compute",
    "data": "finding_title.slow_rank_data",
    "host": "finding_title.slow_rank_host",
}
_ADVICE: Final = {
    "compute": "finding_advice.slow_rank_compute",
    "data": "finding_advice.slow_rank_data",
    "host": "finding_advice.slow_rank_host",
}


def judge(run: RunContext) -> list[Finding]:
    """Ranks that communicate less than their peers because they are busy longer, and absent ones waited for."""
    losses = [*_late_among_captured(run), *_waited_for_and_absent(run)]
    return findings_of(run, "slow_rank", losses, Next(("summary", "steps"), "summary"))


def _late_among_captured(run: RunContext) -> list[Loss]:
    return [loss for peers in _peers(run) for loss in _late_of_peers(run, peers)]


def _peers(run: RunContext) -> list[list[int]]:
    """Ranks that should be alike: those of one pipeline stage, where stages are known."""
    stages = dict(run.store.scan("ranks").select("rank", "pp").collect().iter_rows())
    groups: dict[int | None, list[int]] = {}
    for rank in run.times:
        groups.setdefault(stages.get(rank), []).append(rank)
    return [group for group in groups.values() if len(group) > 1]


def _late_of_peers(run: RunContext, peers: list[int]) -> list[Loss]:
    lateness = {rank: run.delays[rank] for rank in peers if rank in run.delays}
    if len(lateness) > 1:
        late = late_ranks(lateness, {rank: run.times[rank].period_us for rank in lateness})
    else:  # which calls belong together is not recorded
        less = {rank: _communicates_less(run, rank, peers) for rank in peers}
        least = finding_facts().slow_rank.least_excess_share
        late = {rank: time_us for rank, time_us in less.items() if run.times[rank].share(time_us) >= least}
    losses = (_loss(run, rank, peers, late) for rank in late)
    return [loss for loss in losses if loss is not None]


def _communicates_less(run: RunContext, rank: int, peers: list[int]) -> float:
    others = statistics.median(_communicates(run.times[other]) for other in peers if other != rank)
    return others - _communicates(run.times[rank])


def _loss(run: RunContext, rank: int, peers: list[int], late: dict[int, float]) -> Loss | None:
    """A rank is late by what it needs more than its peers, as far as they wait for it in communication."""
    time = run.times[rank]
    others = [run.times[other] for other in peers if other != rank]
    needs = _needs(time)
    usual = {cause: statistics.median(_needs(other)[cause] for other in others) for cause in _TITLES}
    cause = max(_TITLES, key=lambda name: needs[name] - usual[name])
    gain = min(needs[cause] - usual[cause], late[rank])
    share = time.share(gain)
    if share < finding_facts().slow_rank.least_excess_share:
        return None
    return Loss(
        rank=rank,
        cause=cause,
        title=_TITLES[cause],
        advice=_ADVICE[cause],
        gain_us=gain,
        gain_share=share,
        gain_method="waiting_removed",
        words={"others": rank_names([other.rank for other in others if other.rank not in late], run.ranks)},
        evidence=[
            number(f"slow_rank_{cause}", needs[cause], "us", usual[cause], "cluster"),
            number("waiting_of_others", late[rank], "us", link="cluster"),
        ],
        proof=[Proof(rank=rank, page="timeline")],
    )


def _needs(time: RankTime) -> dict[str, float]:
    idle = time.idle_by_cause
    return {
        "compute": time.computing_us,
        "data": idle.get("data", 0.0),
        "host": sum(idle.get(cause, 0.0) for cause in ("host", "sync", "gc", "unknown", "dependency")),
    }


def _communicates(time: RankTime) -> float:
    return time.exposed_communication_us + time.idle_by_cause.get("collective", 0.0)


def _waited_for_and_absent(run: RunContext) -> list[Loss]:
    """Recorded waits name the peer, also one whose files are not here."""
    limits = finding_facts().slow_rank
    rows = (
        run.store.scan("transfers")
        .filter((pl.col("kind").cast(pl.String) == "wait") & pl.col("peer").is_not_null())
        .filter(pl.col("step").is_not_null())
        .group_by("rank", "peer")
        .agg(wait_us=pl.col("time_ns").sum() / 1000)
        .collect()
    )
    waits: dict[int, dict[int, float]] = {}
    for rank, peer, wait_us in rows.iter_rows():
        time = run.times.get(rank)
        if time is not None:
            waits.setdefault(rank, {})[peer] = wait_us / len(time.steps)
    blamed: dict[int, list[tuple[RankTime, float]]] = {}
    for rank, by_peer in waits.items():
        peer = max(by_peer, key=lambda one: by_peer[one])
        time, wait = run.times[rank], min(by_peer[peer], _communicates(run.times[rank]))
        noticeable = time.share(wait) >= limits.least_excess_share
        if (
            peer not in run.ranks
            and noticeable
            and by_peer[peer] >= limits.least_share_of_waits * sum(by_peer.values())
        ):
            blamed.setdefault(peer, []).append((time, wait))
    return [_absent(run, peer, victims) for peer, victims in blamed.items()]


def _absent(run: RunContext, peer: int, victims: list[tuple[RankTime, float]]) -> Loss:
    wait = statistics.mean(wait for _, wait in victims)
    return Loss(
        rank=peer,
        cause="not_captured",
        title="finding_title.slow_rank_absent",
        advice="finding_advice.slow_rank_absent",
        gain_us=wait,
        gain_share=statistics.mean(time.share(wait) for time, wait in victims),
        gain_method="waiting_removed",
        words={"others": rank_names([time.rank for time, _ in victims], run.ranks)},
        evidence=[number("waiting_of_others", wait, "us", link="cluster")],
        proof=[Proof(rank=time.rank, page="timeline") for time, _ in victims],
    )


RULE = Rule(kinds=("slow_rank",), needs=("other_ranks",), judge=judge)
