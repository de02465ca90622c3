"""``gc_pause``: Python's garbage collector holds the host up, and the device with it."""

from __future__ import annotations

from stepscope.analysis.launches.types import Pause
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.diagnosis.losses import IDLE_REMOVED, Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts


def judge(run: RunContext) -> list[Finding]:
    """Ranks that lose time to collections."""
    losses = []
    costs = _costs(run)
    for rank, idle in costs.items():
        share = run.times[rank].share(idle)
        if not worth_telling(share):
            continue
        pauses = _pauses(run, rank)
        losses.append(
            Loss(
                rank=rank,
                cause="garbage_collection",
                title="finding_title.gc_pause",
                advice="finding_advice.gc_pause",
                gain_us=idle,
                gain_share=share,
                gain_method=IDLE_REMOVED,
                confidence="confirmed",
                evidence=[
                    number("idle_in_gc_share", share, "share", link="timeline"),
                    number("gc_pauses", len(pauses), "pauses", link="timeline"),
                ],
                steps=sorted({pause.step for pause in pauses if pause.step is not None}),
                proof=[
                    Proof(
                        rank=rank,
                        page="timeline",
                        slices=[pause.slice],
                        start_ns=pause.start_ns,
                        end_ns=pause.start_ns + round(pause.duration_us * 1000),
                    )
                    for pause in pauses
                ],
            )
        )
    return findings_of(run, "gc_pause", losses, Next(("launches",), "launches"))


def _costs(run: RunContext) -> dict[int, float]:
    """Idle time by rank. Where ranks collect alike, but at different moments, all wait for whoever does so then."""
    own = {rank: time.idle_by_cause.get("gc", 0.0) for rank, time in run.times.items()}
    longest = max(own.values(), default=0.0)
    spent = {rank: sum(pause.duration_us for pause in _pauses(run, rank)) for rank in own} if longest else {}
    least = finding_facts().gc_pause.least_share_of_longest * max(spent.values(), default=0.0)
    if len(own) > 1 and spent and all(us >= least > 0 for us in spent.values()):
        return dict.fromkeys(own, longest)
    return own


def _pauses(run: RunContext, rank: int) -> list[Pause]:
    """Pauses of a rank, the longest first."""
    return sorted(run.entries("launches", "gc_pauses", rank), key=lambda pause: -pause.duration_us)


RULE = Rule(kinds=("gc_pause",), needs=("collections",), judge=judge)
