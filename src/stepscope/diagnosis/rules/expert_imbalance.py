"""``expert_imbalance``: the experts of some ranks get more tokens than those of others, which wait for them."""

from __future__ import annotations

import statistics

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.evidence.rhythm import in_which_steps
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.outstanding import standing_out
from stepscope.diagnosis.measures.slow_members import peers_of, slow_steps
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts


def judge(run: RunContext) -> list[Finding]:
    """Ranks that compute longer for their experts than their peers do."""
    losses = [loss for peers in peers_of(run) for loss in _of_peers(run, peers)]
    return findings_of(run, "expert_imbalance", losses, Next(("summary", "communication"), "summary"))


def _of_peers(run: RunContext, peers: list[int]) -> list[Loss]:
    slower = _slower(run)
    times = {
        rank: [time / slower.get(rank, 1.0) for time in run.expert_times[rank]]
        for rank in peers
        if rank in run.expert_times
    }
    if len(times) < 2:
        return []
    period = statistics.fmean(run.times[rank].period_us for rank in times)
    hot = standing_out(times, period, finding_facts().strength.mild_share)
    if not hot:
        return []
    others = [rank for rank in times if rank not in hot]
    gain = statistics.fmean(_above(times, list(hot), others))
    if not worth_telling(gain / period):
        return []
    usual = statistics.fmean(statistics.fmean(times[rank]) for rank in others)
    most = statistics.fmean(max(values) for values in zip(*times.values(), strict=True))
    mean = statistics.fmean(statistics.fmean(values) for values in times.values())
    return [
        Loss(
            rank=rank,
            cause="tokens",
            title="finding_title.expert_imbalance",
            advice="finding_advice.expert_imbalance",
            gain_us=gain,
            gain_share=gain / period,
            gain_method="waiting_removed",
            words={"when": in_which_steps(_steps(run, rank, times, others, period), run.own_times[rank].steps)},
            evidence=[
                number("expert_time", statistics.fmean(times[rank]), "us", usual, "cluster"),
                number("expert_balance", mean / most, "share", 1.0, "cluster"),
            ],
            proof=[Proof(rank=rank, page="timeline")],
        )
        for rank in hot
    ]


def _slower(run: RunContext) -> dict[int, float]:
    """How much slower the other computing of slow ranks is: their experts are so, too, whatever their load."""
    return {
        rank: member.needs_us / member.usual_us
        for member in run.slow_members
        if member.cause == "compute" and member.usual_us > 0
        for rank in member.ranks
    }


def _above(times: dict[int, list[float]], hot: list[int], others: list[int]) -> list[float]:
    """Step by step, how much longer the busiest takes than the busiest of the others with their share of its tokens.

    Tokens do not vanish: spread evenly, the others compute as long as the mean of all.
    """
    above = []
    for one, rest in zip(*(zip(*(times[rank] for rank in ranks), strict=True) for ranks in (hot, others)), strict=True):
        usual = statistics.fmean(rest)
        spread = statistics.fmean([*one, *rest]) / usual if usual else 1.0
        above.append(max(max(one) - max(rest) * spread, 0.0))
    return above


def _steps(run: RunContext, rank: int, times: dict[int, list[float]], others: list[int], period: float) -> list[int]:
    least = finding_facts().strength.mild_share * period
    return slow_steps(run.own_times[rank].steps, times[rank], [times[other] for other in others], least)


RULE = Rule(kinds=("expert_imbalance",), needs=("expert_groups",), judge=judge)
