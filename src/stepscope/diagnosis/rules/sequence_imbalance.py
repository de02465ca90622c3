"""``sequence_imbalance``: in every step other ranks have the longer sequences, and the rest waits for them.

In a pipeline it is from micro-batch to micro-batch that lengths change, and stages that wait for each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.micro_batches import micro_batches, pass_times
from stepscope.diagnosis.measures.slow_members import peers_of
from stepscope.diagnosis.measures.stages import Stages
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts

Series = Mapping[int, Sequence[float]]


def judge(run: RunContext) -> list[Finding]:
    """Peers whose computing changes from step to step, forward and backward alike, each in its own steps."""
    losses = _of_pipeline(run, run.stages) if run.stages is not None else []
    if not losses:
        judged = [_of_peers(run, peers) for peers in peers_of(run)]
        worst = max(judged, key=lambda losses: losses[0].gain_us or 0.0 if losses else 0.0, default=[])
        # Stages work on the same sequences: one finding tells of all.
        losses = [_with_gain_of(loss, worst[0]) for losses in judged for loss in losses]
    return findings_of(run, "sequence_imbalance", losses, Next(("summary", "steps"), "steps"))


def _with_gain_of(loss: Loss, worst: Loss) -> Loss:
    return replace(loss, gain_us=worst.gain_us, gain_share=worst.gain_share, evidence=worst.evidence)


def _of_peers(run: RunContext, peers: list[int]) -> list[Loss]:
    limits = finding_facts().sequence_imbalance
    slow = {rank for member in run.slow_members for rank in member.ranks}  # in some steps only, they look uneven
    judged = [rank for rank in peers if rank in run.own_times and rank not in slow]
    times = {rank: run.own_times[rank].by_cause["compute"] for rank in judged}
    if len(times) < 2 or min(map(len, times.values())) < limits.least_steps:
        return []
    period = statistics.fmean(run.times[rank].period_us for rank in times)
    varies = statistics.median(statistics.pstdev(each) / statistics.fmean(each) for each in times.values())
    if not worth_telling(cost_of_lengths(times, 1.0) / period) or varies < limits.least_variation:
        return []
    forward, backward = (_phase_times(run, list(times), phase) for phase in ("forward", "backward"))
    if not forward or not backward:
        return []
    phases = deviations(forward), deviations(backward)
    together, of_lengths = correlation(*phases), share_of_both(*phases)
    cost, varies = cost_of_lengths(times, of_lengths), varies * math.sqrt(of_lengths)
    if together < limits.least_correlation or varies < limits.least_variation or not worth_telling(cost / period):
        return []
    return _losses(list(times), cost, period, (varies, together))


def _of_pipeline(run: RunContext, stages: Stages) -> list[Loss]:
    """Micro-batches that compute differently long, forward and backward alike, on every stage.

    With even ones, a step would take what the busiest stage needs for itself, and the filling and draining.
    """
    limits = finding_facts().sequence_imbalance
    passes = micro_batches(run, stages)
    if passes < limits.least_steps:
        return []
    own = [_own_us(run, ranks) for ranks in stages.ranks.values()]
    depth = len(stages.ranks) - 1
    cost = stages.period_us - max(own) * (1 + depth / passes)
    if not worth_telling(cost / stages.period_us):
        return []
    varied = [_variation_of_passes(run, ranks[0], round(passes)) for ranks in stages.ranks.values()]
    varies, together = (min(each[part] for each in varied) for part in (0, 1))
    if varies < limits.least_variation or together < limits.least_correlation:
        return []
    every = [rank for ranks in stages.ranks.values() for rank in ranks]
    return _losses(every, cost, stages.period_us, (varies, together))


def _own_us(run: RunContext, ranks: list[int]) -> float:
    """Microseconds per step that the ranks of a stage work and move data, on average."""
    return statistics.fmean(
        statistics.fmean(run.own_times[rank].whole) + run.exposed_transfers.get(rank, 0.0) for rank in ranks
    )


def _variation_of_passes(run: RunContext, rank: int, passes: int) -> tuple[float, float]:
    """How much passes of micro-batches differ forward, and whether those backward do so alike."""
    forward, backward = (pass_times(run, rank, phase, passes) for phase in ("forward", "backward"))
    if not forward or not backward or not statistics.pstdev(forward) or not statistics.pstdev(backward):
        return 0.0, 0.0
    return statistics.pstdev(forward), statistics.correlation(forward, backward)


def _losses(ranks: list[int], cost_us: float, period_us: float, shown: tuple[float, float]) -> list[Loss]:
    limits = finding_facts().sequence_imbalance
    varies, together = shown
    return [
        Loss(
            rank=rank,
            cause="lengths",
            title="finding_title.sequence_imbalance",
            advice="finding_advice.sequence_imbalance",
            gain_us=cost_us,
            gain_share=cost_us / period_us,
            gain_method="waiting_removed",
            evidence=[
                number("computing_variation_share", varies, "share", limits.least_variation, "cluster"),
                number("forward_backward_correlation", together, "share", limits.least_correlation, "cluster"),
            ],
            proof=[Proof(rank=rank, page="steps")],
        )
        for rank in ranks
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


def share_of_both(one: Series, other: Series) -> float:
    """How much of the variance of their sum both have in common, where each has as much that is its own.

    >>> round(share_of_both({0: [1, -1, 0, 0]}, {0: [1, -1, 1, -1]}), 3)  # 1 - (1 - 0.707) x (2 + 4) / 10
    0.824
    """
    squares = [sum(value * value for series in each.values() for value in series) for each in (one, other)]
    both = sum((first + second) ** 2 for rank in one for first, second in zip(one[rank], other[rank], strict=True))
    return min(max(1 - (1 - correlation(one, other)) * sum(squares) / both, 0.0), 1.0) if both else 0.0


def cost_of_lengths(times: Series, of_lengths: float) -> float:
    """What the longest of each step takes less, without that share of the variance of ``deviations``.

    Over few steps lengths do not even out: ranks seem to differ by what is left of them in their means, too.

    >>> cost_of_lengths({0: [10, 30], 1: [30, 10]}, 1.0)
    10.0
    """
    own = deviations(times)
    ranks, count = {rank: statistics.fmean(series) for rank, series in times.items()}, min(map(len, times.values()))
    whole, between = statistics.fmean(ranks.values()), statistics.variance(ranks.values())
    squares = sum(value * value for series in own.values() for value in series)
    by_chance = of_lengths * squares / ((len(times) - 1) * (count - 1)) / count
    apart = math.sqrt(max(1 - by_chance / between, 0.0)) if between else 0.0
    beside = math.sqrt(1 - of_lengths)
    even = {
        rank: [
            value - (1 - beside) * each - (1 - apart) * (ranks[rank] - whole)
            for value, each in zip(times[rank], own[rank], strict=True)
        ]
        for rank in times
    }
    longest, without = (statistics.fmean(map(max, zip(*each.values(), strict=True))) for each in (times, even))
    return longest - without


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
