"""``hang``: a call that some members of its group never joined, so that all others wait for ever."""

from __future__ import annotations

from stepscope.analysis.communication.groups import groups_of
from stepscope.analysis.communication.hangs import never_joined
from stepscope.analysis.communication.types import Unjoined
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.evidence.rank_names import rank_names
from stepscope.diagnosis.finding import Finding, Proof, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.rule import Rule


def judge(run: RunContext) -> list[Finding]:
    """Per group the first call that was never joined: what comes later follows from it."""
    first: dict[str | None, Unjoined] = {}
    for call in never_joined(run.store, groups_of(run.store)):
        first.setdefault(call.group, call)
    losses = [loss for call in first.values() for loss in _losses(run, call)]
    return findings_of(run, "hang", losses, Next(("communication",), "communication"))


def _losses(run: RunContext, call: Unjoined) -> list[Loss]:
    return [
        Loss(
            rank=rank,
            cause="never_joined",
            title="finding_title.hang",
            advice="finding_advice.hang",
            gain_us=None,
            gain_share=None,
            gain_method=None,
            where=Where(group=call.group, operator=call.kind),
            words={"call": call.kind or "?", "seq": call.seq, "joined": rank_names(call.joined, run.ranks)},
            confidence="confirmed",
            severity="critical",
            evidence=[
                number("hang_missing", len(call.missing), "ranks", link="cluster"),
                number("hang_joined", len(call.joined), "ranks", link="cluster"),
            ],
            proof=[Proof(rank=call.joined[0], page="timeline", start_ns=call.start_ns, end_ns=call.start_ns)],
        )
        for rank in call.missing
    ]


RULE = Rule(kinds=("hang",), needs=("calls_until_end",), judge=judge)
