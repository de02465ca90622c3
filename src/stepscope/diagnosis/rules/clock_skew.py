"""``clock_skew``: the clock of a host is further off than any that is kept right: logs of hosts cannot be compared."""

from __future__ import annotations

import statistics

from stepscope.analysis.cluster.clocks import HostClock, clocks_of
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts
from stepscope.texts.numbers import duration


def judge(run: RunContext) -> list[Finding]:
    """Hosts whose clock is far from that of most others."""
    offsets = {clock.host: _offset(clock) for clock in clocks_of(run.store) if clock.host is not None}
    known = [offset for offset in offsets.values() if offset is not None]
    # Of two nobody can say which is right: the one that was taken for the reference.
    usual = statistics.median(known) if len(known) > 2 else 0.0
    losses = [
        loss
        for clock in clocks_of(run.store)
        if (offset := offsets.get(clock.host or "")) is not None
        for loss in _losses(run, clock, offset - usual)
    ]
    return findings_of(run, "clock_skew", losses, Next(("communication",), "communication"))


def _offset(clock: HostClock) -> float | None:
    """What its times must be moved by; None where that could not be estimated."""
    return 0.0 if clock.state in ("reference", "agrees") else clock.offset_us


def _losses(run: RunContext, clock: HostClock, offset_us: float) -> list[Loss]:
    limits = finding_facts().clock_skew
    off = abs(offset_us)
    if off < limits.least_ms * 1000 or off < limits.least_error_multiple * (clock.error_us or 0.0):
        return []
    return [
        Loss(
            rank=rank,
            cause="offset",
            title="finding_title.clock_skew",
            advice="finding_advice.clock_skew",
            gain_us=None,
            gain_share=None,
            gain_method=None,
            where=Where(host=clock.host),
            words={"host": clock.host, "offset": duration(off)},
            severity="warning",
            evidence=[number("clock_offset", -offset_us, "us", 0.0, "cluster")],
            proof=[Proof(rank=rank, page="timeline")],
        )
        for rank in clock.ranks
        if rank in run.ranks
    ]


RULE = Rule(kinds=("clock_skew",), needs=("clocks",), judge=judge)
