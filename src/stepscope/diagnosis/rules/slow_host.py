"""``slow_host``: all ranks of one host are slower than those of others, which wait for them."""

from __future__ import annotations

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.finding import Finding
from stepscope.diagnosis.losses import Next, findings_of
from stepscope.diagnosis.rule import Rule
from stepscope.diagnosis.slow_member_loss import slow_member_loss


def judge(run: RunContext) -> list[Finding]:
    """One finding per slow host."""
    losses = [
        slow_member_loss(run, "slow_host", member, rank, member.others, {"host": member.host})
        for member in run.slow_members
        if member.host is not None
        for rank in member.ranks
    ]
    return findings_of(run, "slow_host", losses, Next(("summary", "communication"), "summary"))


RULE = Rule(kinds=("slow_host",), needs=("other_ranks",), judge=judge)
