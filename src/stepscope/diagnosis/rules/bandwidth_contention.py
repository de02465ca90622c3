"""``bandwidth_contention``: transfers beside computing are slower than the same transfers alone."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.foundation.work import does_work_on_device
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts

_ALIKE = ("rank", "group", "kind", "bytes")


def judge(run: RunContext) -> list[Finding]:
    """Ranks that lose exposed time because transfers share the bandwidth with kernels.

    Where the host computes by itself, both share its cores, not a bandwidth.
    """
    losses = []
    for rank, beside_us, alone_us, excess_us in run.calls.per_rank(_slower_beside_computing).iter_rows():
        if not does_work_on_device(run.store, rank):
            continue
        time = run.times[rank]
        gain = min(excess_us / len(time.steps), run.exposed_transfers.get(rank, 0.0))
        if worth_telling(time.share(gain)):
            losses.append(_loss(time, gain, beside_us, alone_us))
    return findings_of(run, "bandwidth_contention", losses, Next(("communication", "steps"), "communication"))


def _slower_beside_computing(calls: pl.DataFrame) -> pl.DataFrame:
    """Per rank: a call beside computing, the same alone, and what all calls so slow take longer over all steps, in us.

    Calls of one group, kind and size are the same; the first of a step, the second and so on are looked at apart.
    """
    limits = finding_facts().bandwidth_contention
    large = calls.filter(pl.col("complete") & pl.col("peer").is_null() & (pl.col("bytes") >= limits.least_bytes))
    places = (
        large.with_columns(turn=pl.int_range(pl.len()).over(*_ALIKE, "step"))
        .group_by(*_ALIKE, "turn")
        .agg(
            us=pl.col("transfer_ns").median() / 1000,
            count=pl.len(),
            beside=1 - pl.col("exposed_transfer_ns").sum() / pl.col("transfer_ns").sum().clip(1),
        )
    )
    alone = places.filter(pl.col("beside") <= limits.most_share_alone).group_by(_ALIKE).agg(alone=pl.min("us"))
    slow = places.join(alone, on=_ALIKE).filter(pl.col("us") >= limits.least_ratio * pl.col("alone"))
    hit = slow.filter(pl.col("beside") >= limits.least_share_beside).select(_ALIKE).unique()
    return (
        slow.join(hit, on=_ALIKE, how="semi")
        .group_by("rank")
        .agg(pl.max("us"), pl.min("alone"), excess=((pl.col("us") - pl.col("alone")) * pl.col("count")).sum())
        .sort("rank")
    )


def _loss(time: RankTime, gain_us: float, beside_us: float, alone_us: float) -> Loss:
    return Loss(
        rank=time.rank,
        cause="beside_computing",
        title="finding_title.bandwidth_contention",
        advice="finding_advice.bandwidth_contention",
        gain_us=gain_us,
        gain_share=time.share(gain_us),
        gain_method="usual_transfer",
        words={"times": f"{beside_us / alone_us:.1f}"},
        evidence=[number("transfer_beside_computing", beside_us, "us", alone_us, "communication")],
        proof=[Proof(rank=time.rank, page="communication")],
    )


RULE = Rule(kinds=("bandwidth_contention",), needs=("other_ranks",), judge=judge)
