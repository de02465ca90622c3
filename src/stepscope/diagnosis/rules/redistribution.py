"""``redistribution``: tensors are gathered between operators, because neighbours split them differently."""

from __future__ import annotations

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.rule import Rule
from stepscope.facts.critical_path import critical_path_facts
from stepscope.facts.findings import finding_facts


def judge(run: RunContext) -> list[Finding]:
    """Gatherings that no scattering of gradients belongs to, as far as they are exposed."""
    limits = finding_facts().redistribution
    losses = []
    for rank, group, dimension, count, scatters, exposed_us in run.calls.per_rank(_gathered).iter_rows():
        time = run.times[rank]
        surplus = count - limits.gathers_per_scatter * scatters
        if surplus < limits.least_gathers * len(time.steps):
            continue
        gain = exposed_us / len(time.steps) * surplus / count
        if worth_telling(time.share(gain)):
            place = dimension or group
            losses.append(
                Loss(
                    rank=rank,
                    cause="gathering",
                    title="finding_title.redistribution",
                    advice="finding_advice.redistribution",
                    gain_us=gain,
                    gain_share=time.share(gain),
                    gain_method="exposure_removed",
                    where=Where(group=place),
                    words={"group": place},
                    evidence=[number("redistributed_share", time.share(gain), "share", link="communication")],
                    proof=[Proof(rank=rank, page="timeline")],
                )
            )
    return findings_of(run, "redistribution", losses, Next(("communication", "steps"), "communication"))


def _gathered(calls: pl.DataFrame) -> pl.DataFrame:
    """By rank and group: gatherings, scatterings, and microseconds of gathering that nothing hides."""
    gathers = pl.col("kind") == "all_gather"
    return (
        _beside_gathers(calls.filter(pl.col("complete")))
        .group_by("rank", "group", "dimension")
        .agg(
            gathers=gathers.sum(),
            scatters=(pl.col("kind") == "reduce_scatter").sum(),
            exposed_us=pl.col("exposed_transfer_ns").filter(gathers | pl.col("beside_gather")).sum() / 1000,
        )
        .sort("rank", "group")
    )


def _beside_gathers(calls: pl.DataFrame) -> pl.DataFrame:
    """``beside_gather``: reductions of gradients that queue with a gathering, so that what waits for it waits for both.

    Without it, nothing would need them before the step ends; the last one is exposed in any case.
    """
    queue = ("rank", "group", "step")
    gathers, at_once_ns = pl.col("kind") == "all_gather", critical_path_facts().inference.stream_wait_us * 1000
    gap = pl.col("arrival_ns") - pl.col("end_ns").shift(1).over(queue)
    behind = gathers.shift(1).over(queue) & (gap <= at_once_ns)
    before = gathers.shift(-1).over(queue) & (gap.shift(-1).over(queue) <= at_once_ns)
    last = pl.col("arrival_ns") == pl.col("arrival_ns").max().over(queue)
    gradients = (pl.col("dimension") == "dp") & ~gathers & ~last
    ordered = calls.sort(*queue, "arrival_ns")
    return ordered.with_columns(beside_gather=gradients & (behind.fill_null(False) | before.fill_null(False)))


RULE = Rule(kinds=("redistribution",), needs=("other_ranks",), judge=judge)
