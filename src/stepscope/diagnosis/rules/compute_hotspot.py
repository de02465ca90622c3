"""``compute_hotspot``: an operator takes a large part of the step, and far longer than its work needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from stepscope.analysis.flops.peaks import peaks_of
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.kernels import line_of, longest_kernels
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.computing import MODEL, Computing
from stepscope.diagnosis.measures.ideal_times import counted_operators, ideal_us, operator_streams, reached_bandwidth
from stepscope.diagnosis.rule import Rule
from stepscope.facts.compute_roles import compute_roles_facts
from stepscope.facts.findings import finding_facts

#: Bound by arithmetic, which their shapes tell; all others are bound by memory.
_ARITHMETIC: Final = ("matmul", "convolution")
#: Of which the shapes of inputs do not tell what they need: lists of tensors, masks.
_UNKNOWN: Final = ("optimizer", "attention")


@dataclass(frozen=True)
class _Slow:
    operator: str
    us: float
    ideal_us: float

    @property
    def times_ideal(self) -> float:
        return self.us / self.ideal_us if self.ideal_us else 0.0


def judge(run: RunContext) -> list[Finding]:
    """Operators that cost a part of the step beyond what they need; of 32-bit products another rule tells."""
    losses = []
    for computing in run.computing.values():
        if not computing.on_device:
            continue  # the rates of CPUs are unknown
        for slow in (*_by_memory(run, computing), *_by_arithmetic(run, computing)):
            gain = slow.us - slow.ideal_us
            least = finding_facts().compute_hotspot.least_times_ideal
            if slow.times_ideal >= least and worth_telling(computing.share(gain)):
                losses.append(_loss(run, computing, slow))
    return findings_of(run, "compute_hotspot", losses, Next(("operators --by operator", "flops"), "operators"))


def _by_memory(run: RunContext, computing: Computing) -> Iterator[_Slow]:
    told_by_inputs = ~pl.col("operator").cast(pl.String).str.contains(compute_roles_facts().roles.unknown_inputs)
    by_memory = ~pl.col("category").cast(pl.String).is_in([*_ARITHMETIC, *_UNKNOWN])
    groups = _candidates(computing).filter(by_memory & told_by_inputs)
    totals = groups.group_by(pl.col("operator").cast(pl.String), maintain_order=True).agg(pl.col("us").sum())
    large = {name: us for name, us in totals.iter_rows() if name and worth_telling(computing.share(us))}
    if not large:
        return
    streams = operator_streams(run.store, computing.rank, run.times[computing.rank].steps)
    bandwidth = reached_bandwidth(run.store, computing, streams)
    for operator, us in large.items():
        if bandwidth and operator in streams and streams[operator].bytes:
            yield _Slow(operator, us, streams[operator].ideal_us(bandwidth))


def _by_arithmetic(run: RunContext, computing: Computing) -> Iterator[_Slow]:
    groups = _candidates(computing).filter(pl.col("category").cast(pl.String).is_in(_ARITHMETIC))
    if not worth_telling(computing.share(float(groups["us"].sum()))) or not run.judges_arithmetic_of(computing.rank):
        return
    peaks = peaks_of(run.store, computing.rank)
    bandwidth = peaks.memory * finding_facts().reachable.share_of_bandwidth if peaks.memory else None
    for entry in counted_operators(run.store, computing.rank, run.times[computing.rank].steps):
        peak = peaks.rate(entry.dtype)
        if entry.device_us and peak and entry.dtype != "fp32" and entry.kind in _ARITHMETIC:
            per_step = 1 / computing.steps
            yield _Slow(entry.name, entry.device_us * per_step, ideal_us(entry, peak, bandwidth) * per_step)


def _candidates(computing: Computing) -> pl.DataFrame:
    """Operators that no other rule on computing covers."""
    on_slow_core = pl.col("core").cast(pl.String).str.contains(compute_roles_facts().roles.slow_core)
    looked_at = pl.col("chained") | pl.col("in_tail") | on_slow_core.fill_null(value=False)
    return computing.groups.filter((pl.col("role") == MODEL) & ~looked_at)


def _loss(run: RunContext, computing: Computing, slow: _Slow) -> Loss:
    named = computing.groups.filter(pl.col("operator").cast(pl.String) == slow.operator)
    # An operator that calls the one that launches stands for all products of the rank.
    groups = named if len(named) else computing.groups.filter(pl.col("category").cast(pl.String).is_in(_ARITHMETIC))
    gain = slow.us - slow.ideal_us
    return Loss(
        rank=computing.rank,
        cause="slow_operator",
        title="finding_title.compute_hotspot",
        advice="finding_advice.compute_hotspot",
        gain_us=gain,
        gain_share=computing.share(gain),
        gain_method="reachable_rate",
        where=Where(operator=slow.operator, site=line_of(run.store, computing.rank, groups)),
        confidence="likely" if slow.times_ideal >= finding_facts().compute_hotspot.sure_times_ideal else "suspect",
        words={"operator": slow.operator, "times": f"{slow.times_ideal:.0f}"},
        evidence=[
            number("operator_share", computing.share(slow.us), "share", link="operators"),
            number("operator_us", slow.us, "us", slow.ideal_us, "operators"),
        ],
        proof=longest_kernels(computing.rank, groups),
    )


RULE = Rule(kinds=("compute_hotspot",), needs=("shapes",), judge=judge)
