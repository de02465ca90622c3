"""``retransmission``: in some steps, transfers take many times as long as the same ones in other steps."""

from __future__ import annotations

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Bilingual, Finding, Proof, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.rule import Rule
from stepscope.facts.communication import communication_facts
from stepscope.facts.findings import finding_facts


def judge(run: RunContext) -> list[Finding]:
    """Groups whose calls are held up in a few steps, which everybody waits for."""
    limits = finding_facts().retransmission
    losses, within_a_host = [], _within_a_host(run)
    rows = run.calls.per_rank(_held_up).iter_rows()
    for rank, group, lost_us, steps, longest_us, usual_us in rows:
        time = run.times[rank]
        gain = lost_us / len(time.steps)
        few = limits.least_steps <= len(steps) <= limits.most_share_of_steps * len(time.steps)
        if few and worth_telling(time.share(gain)) and group not in within_a_host:
            which = Bilingual.of("finding_rhythm.some", count=len(steps), counted=len(time.steps))
            losses.append(
                Loss(
                    rank=rank,
                    cause="long_transfers",
                    title="finding_title.retransmission",
                    advice="finding_advice.retransmission",
                    gain_us=gain,
                    gain_share=time.share(gain),
                    gain_method="usual_transfer",
                    where=Where(group=group),
                    words={"which": which, "group": group},
                    confidence="likely",
                    evidence=[number("long_call", longest_us, "us", usual_us, "communication")],
                    steps=steps,
                    proof=[Proof(rank=rank, page="timeline")],
                )
            )
    return findings_of(run, "retransmission", losses, Next(("communication", "steps"), "communication"))


def _held_up(calls: pl.DataFrame) -> pl.DataFrame:
    """By rank and group what calls lost that took much longer than the same in other steps, and in which steps."""
    same_call = ["rank", "group", "kind", "number"]
    calls = calls.filter(pl.col("complete")).with_columns(
        number=pl.int_range(pl.len()).over("rank", "group", "kind", "step")
    )
    usual = pl.col("transfer_ns").median().over(same_call)
    excess = (pl.col("transfer_ns") - usual).cast(pl.Int64)
    long = calls.with_columns(usual=usual, lost=pl.min_horizontal(excess, "exposed_transfer_ns")).filter(
        pl.col("transfer_ns") >= finding_facts().retransmission.least_ratio * pl.col("usual")
    )
    return (
        long.group_by("rank", "group")
        .agg(
            lost_us=pl.col("lost").sum() / 1000,
            steps=pl.col("step").unique().sort(),
            longest_us=pl.max("transfer_ns") / 1000,
            usual_us=pl.col("usual").sort_by("transfer_ns").last() / 1000,
        )
        .sort("rank", "group")
    )


def _within_a_host(run: RunContext) -> set[str]:
    """Groups of libraries of the host (gloo, MPI) on one host: their calls use no network that could lose packets.

    So do those of ranks whose hosts nobody recorded, as far as anybody knows.
    """
    over_host = "^(?:" + "|".join(communication_facts().host_prefixes) + "):"
    calls = run.store.scan("collectives").select("rank", pl.col("group", "name").cast(pl.String)).drop_nulls("group")
    ranks = calls.group_by("group").agg(pl.col("rank").unique(), over_host=pl.col("name").str.contains(over_host).all())
    return {
        group
        for group, members, whole in ranks.collect().iter_rows()
        if whole and len({run.host_of.get(rank) for rank in members}) == 1
    }


RULE = Rule(kinds=("retransmission",), needs=("other_ranks",), judge=judge)
