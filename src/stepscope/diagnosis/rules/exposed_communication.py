"""``exposed_communication``: the step communicates while nothing computes."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Final

import polars as pl

from stepscope.analysis.foundation.work import work_of
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, FindingEvidence, Proof
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.diagnosis.rule import Rule
from stepscope.facts.communication import communication_facts
from stepscope.facts.findings import finding_facts

_TITLES: Final = {
    "waiting": "finding_title.communication_waiting",
    "transfer": "finding_title.communication_transfer",
    "not_hidden": "finding_title.communication_not_hidden",
}
_ADVICE: Final = {
    "waiting": "finding_advice.communication_waiting",
    "transfer": "finding_advice.communication_transfer",
    "not_hidden": "finding_advice.communication_not_hidden",
}
#: Where calls were matched, it is known who comes late.
_ADVICE_KNOWN: Final = "finding_advice.communication_waiting_known"
#: Where tensors of a device go through a library of the host, another library gains more than anything else.
_ADVICE_OVER_HOST: Final = "finding_advice.communication_over_host"


def judge(run: RunContext) -> list[Finding]:
    """Ranks whose communication is not hidden behind computing; whether they wait or send, where that is known."""
    transfers = run.exposed_transfers
    gradients = _gradient_share(run) >= finding_facts().exposed_communication.least_gradient_share
    waiting = run.recorded_waiting
    losses = []
    for rank, time in run.times.items():
        if rank in transfers:
            loss = _by_matched_calls(run, time, transfers[rank], gradients=gradients)
        else:
            loss = _by_own_records(run, time, waiting.get(rank))
        losses += [loss] if loss is not None else []
    return findings_of(run, "exposed_communication", losses, Next(("steps", "critical-path"), "summary"))


def _by_matched_calls(run: RunContext, time: RankTime, transfer_us: float, *, gradients: bool) -> Loss | None:
    """Waiting for late ranks is no transfer, and who is late is said elsewhere: by itself it is worth knowing only.

    Reductions of gradients can be hidden behind the backward pass, so less of them counts than of other transfers.
    Those within layers cannot: what follows needs their result. A split into tensors always has some.
    """
    limits = finding_facts().exposed_communication
    waits_us = max(time.communicating_us - transfer_us, 0.0)
    share = time.share(transfer_us)
    within_layers = time.share(run.exposed_within_layers.get(time.rank, 0.0))
    evidence = [
        number("exposed_transfer_share", share, "share", limits.least_share, "timeline"),
        number("exposed_waiting_share", time.share(waits_us), "share", link="communication"),
    ]
    if share > limits.least_share or (gradients and worth_telling(share)):
        loss = _loss(run, time, "transfer", transfer_us, evidence)
        usual = share <= limits.least_share_within_layers and share - within_layers <= limits.least_share
        return replace(loss, severity="info") if usual and not gradients else loss
    if time.share(waits_us) > limits.least_share:
        return replace(_loss(run, time, "waiting", waits_us, evidence), severity="info", advice=_ADVICE_KNOWN)
    return None


def _gradient_share(run: RunContext) -> float:
    """The share of the step in which reductions of gradients move data and nothing computes, of the median rank."""
    gradients = pl.col("complete") & (pl.col("dimension") == "dp")
    gradients &= pl.col("kind").is_in(["all_reduce", "reduce_scatter"])
    exposed = run.calls.per_rank(
        lambda calls: calls.filter(gradients).group_by("rank").agg(pl.col("exposed_transfer_ns").sum() / 1000)
    )
    shares = [
        run.times[rank].share(us / len(run.times[rank].steps)) for rank, us in exposed.iter_rows() if rank in run.times
    ]
    return statistics.median(share or 0.0 for share in shares) if shares else 0.0


def _by_own_records(run: RunContext, time: RankTime, waits: float | None) -> Loss | None:
    """Peers were not recorded: what the rank itself tells of its calls."""
    limits = finding_facts().exposed_communication
    share = time.share(time.communicating_us)
    if share <= limits.least_share:
        return None
    evidence = [number("exposed_communication_share", share, "share", limits.least_share, "timeline")]
    cause = "not_hidden"
    if waits is not None:
        evidence.append(number("communication_waiting_share", waits, "share", limits.mostly_waiting_from_share))
        cause = "waiting" if waits >= limits.mostly_waiting_from_share else "transfer"
    return _loss(run, time, cause, time.communicating_us, evidence)


def _loss(run: RunContext, time: RankTime, cause: str, gain_us: float, evidence: list[FindingEvidence]) -> Loss:
    library = None if cause == "waiting" else _library_of_host(run, time.rank)
    return Loss(
        rank=time.rank,
        cause=cause,
        title=_TITLES[cause],
        advice=_ADVICE[cause] if library is None else _ADVICE_OVER_HOST,
        words={} if library is None else {"library": library},
        gain_us=gain_us,
        gain_share=time.share(gain_us),
        gain_method="exposure_removed",
        evidence=evidence,
        proof=_longest(run, time.rank),
    )


def _library_of_host(run: RunContext, rank: int) -> str | None:
    """The library of the host that most of the communication of a device goes through; None where there is none."""
    if not work_of(run.store, rank).on_device:
        return None
    took = (
        run.store.scan("collectives", [rank])
        .filter(pl.col("step").is_not_null())
        .group_by(library=pl.col("name").cast(pl.String).str.extract(r"^(\w+):"))
        .agg(ns=(pl.col("end_ns") - pl.col("start_ns")).sum())
        .sort("ns", "library", descending=[True, False])
        .collect()
    )
    longest = None if took.is_empty() else took["library"][0]
    return longest if longest in communication_facts().host_prefixes else None


def _longest(run: RunContext, rank: int) -> list[Proof]:
    length = pl.col("end_ns") - pl.col("start_ns")
    rows = (
        run.store.scan("collectives", [rank])
        .filter(pl.col("step").is_not_null())
        .sort(length, "start_ns", "slice", descending=[True, False, False])
        .head(finding_facts().lists.most_proofs)
        .select("slice", "start_ns", "end_ns")
        .collect()
    )
    return [
        Proof(rank=rank, page="timeline", slices=[] if part is None else [part], start_ns=start, end_ns=end)
        for part, start, end in rows.iter_rows()
    ]


RULE = Rule(kinds=("exposed_communication",), needs=("step_times",), judge=judge)
