"""What a slow rank or a slow host costs those that wait for it: the loss that ``slow_rank`` and ``slow_host`` share."""

from __future__ import annotations

from typing import Final, Literal

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.evidence.rhythm import in_which_steps
from stepscope.diagnosis.evidence.waits import waits_as_proof
from stepscope.diagnosis.finding import Where
from stepscope.diagnosis.losses import Loss
from stepscope.diagnosis.measures.slow_members import SlowMember
from stepscope.texts.numbers import duration

#: Names of the title and the advice, by kind and cause.
_SENTENCES: Final = {
    "slow_rank": {"compute": "slow_rank_compute", "data": "slow_rank_data", "host": "slow_rank_host"},
    "slow_host": {"compute": "slow_host_compute", "data": "slow_host_data", "host": "slow_host_host"},
}


def slow_member_loss(
    run: RunContext,
    kind: Literal["slow_rank", "slow_host"],
    member: SlowMember,
    rank: int,
    waiting: list[int],
    words: dict[str, object],
) -> Loss:
    """The loss by one rank of a slow member; ``waiting`` ranks wait for it, ``words`` are those of the kind."""
    sentence = _SENTENCES[kind][member.cause]
    return Loss(
        rank=rank,
        cause=member.cause,
        title=f"finding_title.{sentence}",
        advice=f"finding_advice.{sentence}",
        gain_us=member.gain_us,
        gain_share=run.times[rank].share(member.gain_us),
        gain_method="waiting_removed",
        where=Where(host=member.host),
        words={
            **words,
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
        proof=waits_as_proof(run, rank, waiting),
    )
