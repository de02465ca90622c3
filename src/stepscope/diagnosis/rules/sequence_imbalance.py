"""``sequence_imbalance``: in every step other ranks have the longer sequences, and the rest waits for them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence import number
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.rule import Rule
from stepscope.diagnosis.slow_members import peers_of
from stepscope.facts.findings import finding_facts

Series = Mapping[int, Sequence[float]]


def judge(run: RunContext) -> list[Finding]:
    """Peers whose computing changes from step to step, forward and backward alike, each in its own steps."""
    judged = [_of_peers(run, peers) for peers in peers_of(run)]
    worst = max(judged, key=lambda losses: losses[0].gain_us or 0.0 if losses else 0.0, default=[])
    # Stages work on the same sequences: one finding tells of all.
    losses = [loss for losses in judged if losses for loss in losses]
    levelled = [_with_gain_of(loss, worst[0]) for loss in losses]
    return findings_of(run, "sequence_imbalance", levelled, Next(("summary", "steps"), "steps"))


def _with_gain_of(loss: Loss, worst: Loss) -> Loss:
    return replace(loss, gain_us=worst.gain_us, gain_share=worst.gain_share, evidence=worst.evidence)


def _of_peers(run: RunContext, peers: list[int]) -> list[Loss]:
    limits = finding_facts().sequence_imbalance
    times = {rank: run.own_times[rank].by_cause["compute"] for rank in peers if rank in run.own_times}
    if len(times) < 2 or min(map(len, times.values())) < limits.least_steps:
        return []
    period = statistics.fmean(run.times[rank].period_us for rank in times)
    cost = statistics.fmean(max(values) for values in zip(*deviations(times).values(), strict=True))
    varies = statistics.median(statistics.pstdev(each) / statistics.fmean(each) for each in times.values())
    if not worth_telling(cost / period) or varies < limits.least_variation:
        return []
    forward, backward = (_phase_times(run, list(times), phase) for phase in ("forward", "backward"))
    together = correlation(deviations(forward), deviations(backward)) if forward and backward else 0.0
    if together < limits.least_correlation:
        return []
    return [
        Loss(
            rank=rank,
            cause="lengths",
            title="finding_title.sequence_imbalance",
            advice="finding_advice.sequence_imbalance",
            gain_us=cost,
            gain_share=cost / period,
            gain_method="waiting_removed",
            evidence=[
                number("computing_variation_share", varies, "share", limits.least_variation, "cluster"),
                number("forward_backward_correlation", together, "share", limits.least_correlation, "cluster"),
            ],
            proof=[Proof(rank=rank, page="steps")],
        )
        for rank in times
    ]


def deviations(times: Series) -> dict[int, list[float]]:
    """What each step of each rank is beside what the rank needs on average, and all need in that step.

    >>> deviations({0: [1, 3], 1: [2, 2]})
    {0: [-0.5, 0.5], 1: [0.5, -0.5]}
    """
    ranks = {rank: statistics.fmean(series) for rank, series in times.items()}
    steps = [statistics.fmean(values) for values in zip(*times.values(), strict=True)]
    whole = statistics.fmean(steps)
    return {
        rank: [value - ranks[rank] - step + whole for value, step in zip(series, steps, strict=True)]
        for rank, series in times.items()
    }


def correlation(one: Series, other: Series) -> float:
    """Of all ranks and steps of both; 0 where one of them never changes."""
    pairs = [pair for rank in one for pair in zip(one[rank], other[rank], strict=True)]
    products, first, second = (sum(a * b for a, b in pairs), sum(a * a for a, _ in pairs), sum(b * b for _, b in pairs))
    return products / math.sqrt(first * second) if first and second else 0.0


def _phase_times(run: RunContext, ranks: list[int], phase: str) -> dict[int, list[float]]:
    """Kernel time of a phase by step; empty where not every step of every rank has some."""
    times = {}
    for rank in ranks:
        steps = run.own_times[rank].steps
        kernels = run.store.scan("slices", [rank]).filter(
            pl.col("kind").cast(pl.String).is_in(["kernel", "operator"]) & (pl.col("phase").cast(pl.String) == phase)
        )
        rows = kernels.group_by("step").agg(pl.col("dur_ns").sum()).collect()
        by_step = dict(rows.iter_rows())
        if any(step not in by_step for step in steps):
            return {}
        times[rank] = [float(by_step[step]) for step in steps]
    return times


RULE = Rule(kinds=("sequence_imbalance",), needs=("other_ranks",), judge=judge)
