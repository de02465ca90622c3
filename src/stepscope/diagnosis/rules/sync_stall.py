"""``sync_stall``: the device runs dry because the host had waited for it instead of launching more work."""

from __future__ import annotations

from stepscope.analysis.foundation.idle import idle_of
from stepscope.analysis.launches.types import Gap, Sync
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.gaps import gaps_as_proof
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Bilingual, Finding, Proof, Where
from stepscope.diagnosis.losses import IDLE_REMOVED, Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.busy_host import calling_place
from stepscope.diagnosis.rule import Rule


def judge(run: RunContext) -> list[Finding]:
    """Ranks that lose time to synchronisation, by the call that costs most."""
    losses = []
    for rank, time in run.times.items():
        idle = time.idle_by_cause.get("sync", 0.0)
        share = time.share(idle)
        if not worth_telling(share):
            continue
        call = _costliest_call(run, rank)
        place = calling_place(run.store, time, call) if call else None
        losses.append(
            Loss(
                rank=rank,
                cause="synchronisation",
                title="finding_title.sync_stall_call" if call else "finding_title.sync_stall",
                advice="finding_advice.sync_stall",
                gain_us=idle,
                gain_share=share,
                gain_method=IDLE_REMOVED,
                where=Where(operator=call, site=place.in_words if place and place.is_code else None),
                words={
                    "call": call,
                    "place": Bilingual.of("finding_place.called_in", place=place.in_words) if place else "",
                },
                evidence=[
                    number("idle_after_sync_share", share, "share", link="timeline"),
                    number("idle_share", time.share(time.idle_us), "share", link="timeline"),
                ],
                proof=_proof(run, rank, call),
            )
        )
    return findings_of(run, "sync_stall", losses, Next(("launches",), "launches"))


def _proof(run: RunContext, rank: int, call: str | None) -> list[Proof]:
    """The gaps that are mostly such waiting; where other causes outweigh it everywhere, those with the call in them."""
    mostly = gaps_as_proof(run, rank, lambda gap: gap.cause == "sync")
    if mostly or call is None:
        return mostly
    calls = idle_of(run.store, rank).calls
    named = (calls.name == call).to_numpy()
    start, end = calls.start[named], calls.end[named]

    def holds_one(gap: Gap) -> bool:
        return bool(((start < gap.start_ns + gap.duration_us * 1000) & (end > gap.start_ns)).any())

    return gaps_as_proof(run, rank, holds_one)


def _costliest_call(run: RunContext, rank: int) -> str | None:
    cost: dict[str, float] = {}
    calls: list[Sync] = run.entries("launches", "syncs", rank)
    for call in calls:
        cost[call.name] = cost.get(call.name, 0.0) + call.idle_us
    return max(cost, key=lambda name: cost[name]) if cost else None


RULE = Rule(kinds=("sync_stall",), needs=("idle_causes",), judge=judge)
