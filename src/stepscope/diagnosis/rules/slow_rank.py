"""``slow_rank``: the others wait in communication for one rank, which comes late."""

from __future__ import annotations

import statistics

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.evidence.rank_names import waiting_ranks
from stepscope.diagnosis.evidence.waits import waits_as_proof
from stepscope.diagnosis.finding import Finding
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.diagnosis.measures.slow_members import SlowMember
from stepscope.diagnosis.rule import Rule
from stepscope.diagnosis.slow_member_loss import slow_member_loss
from stepscope.facts.findings import finding_facts
from stepscope.texts.numbers import duration


def judge(run: RunContext) -> list[Finding]:
    """Ranks that need longer than their peers, so that these wait for them, and absent ones waited for."""
    slow = [member for member in run.slow_members if member.host is None]
    losses = [*(_loss(run, member, slow) for member in slow), *_waited_for_and_absent(run)]
    return findings_of(run, "slow_rank", losses, Next(("summary", "steps"), "summary"))


def _loss(run: RunContext, member: SlowMember, slow: list[SlowMember]) -> Loss:
    (rank,) = member.ranks
    waiting = [other for other in member.others if other not in {one for each in slow for one in each.ranks}]
    return slow_member_loss(run, "slow_rank", member, rank, waiting, {"others": waiting_ranks(waiting, run.ranks)})


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
        time, wait = run.times[rank], min(by_peer[peer], run.times[rank].communicating_us)
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
        words={"others": waiting_ranks([time.rank for time, _ in victims], run.ranks), "wait": duration(wait)},
        evidence=[number("waiting_of_others", wait, "us", link="cluster")],
        proof=waits_as_proof(run, peer, [time.rank for time, _ in victims]),
    )


RULE = Rule(kinds=("slow_rank",), needs=("other_ranks",), judge=judge)
