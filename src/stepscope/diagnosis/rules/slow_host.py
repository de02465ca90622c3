"""``slow_host``: all ranks of one host are slower than those of others, which wait for them."""

from __future__ import annotations

from typing import Final

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence import number
from stepscope.diagnosis.finding import Finding, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.rhythm import in_which_steps
from stepscope.diagnosis.rule import Rule
from stepscope.diagnosis.slow_members import SlowMember
from stepscope.diagnosis.waits_as_proof import waits_as_proof
from stepscope.texts.numbers import duration

_TITLES: Final = {
    "compute": "finding_title.slow_host_compute",
    "data": "finding_title.slow_host_data",
    "host": "finding_title.slow_host_host",
}
_ADVICE: Final = {
    "compute": "finding_advice.slow_host_compute",
    "data": "finding_advice.slow_host_data",
    "host": "finding_advice.slow_host_host",
}


def judge(run: RunContext) -> list[Finding]:
    """One finding per slow host."""
    losses = [
        _loss(run, member, rank) for member in run.slow_members if member.host is not None for rank in member.ranks
    ]
    return findings_of(run, "slow_host", losses, Next(("summary", "communication"), "summary"))


def _loss(run: RunContext, member: SlowMember, rank: int) -> Loss:
    return Loss(
        rank=rank,
        cause=member.cause,
        title=_TITLES[member.cause],
        advice=_ADVICE[member.cause],
        gain_us=member.gain_us,
        gain_share=run.times[rank].share(member.gain_us),
        gain_method="waiting_removed",
        where=Where(host=member.host),
        words={
            "host": member.host,
            "when": in_which_steps(member.slow_steps, member.steps),
            "needs": duration(member.needs_us),
            "usual": duration(member.usual_us),
        },
        evidence=[
            number(f"slow_rank_{member.cause}", member.needs_us, "us", member.usual_us, "cluster"),
            number("waiting_of_others", member.late_us, "us", link="cluster"),
        ],
        # One step shows no more than that it was so once.
        confidence="likely" if len(member.steps) > 1 or len(run.times[rank].steps) > 1 else "suspect",
        steps=member.slow_steps if len(member.slow_steps) < len(member.steps) else [],
        proof=waits_as_proof(run, rank, member.others),
    )


RULE = Rule(kinds=("slow_host",), needs=("other_ranks",), judge=judge)
