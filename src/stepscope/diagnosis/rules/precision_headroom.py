"""``precision_headroom``: matrix products in 32 or 64 bits, on a device that computes them much faster in fewer."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from typing import Final

import polars as pl

from stepscope.analysis.flops.kernel_units import on_tensor_cores
from stepscope.analysis.flops.peaks import Peaks, peaks_of
from stepscope.analysis.flops.shapes import dtypes
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.kernels import leading_operator, line_of, longest_kernels
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Confidence, Finding, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.computing import Computing
from stepscope.diagnosis.measures.ideal_times import counted_operators, ideal_us
from stepscope.diagnosis.rule import Rule
from stepscope.facts.compute_roles import compute_roles_facts
from stepscope.facts.findings import finding_facts

_PRODUCTS: Final = ("matmul", "convolution")
#: Sixteen bits, and their rate in the tables of devices.
_HALF: Final = ("bf16", "fp16")


@dataclass(frozen=True)
class _Precision:
    """More bits than most products need; ``half_bytes`` is how much of the memory traffic sixteen bits leave."""

    dtype: str
    cause: str
    half_bytes: float
    title: str
    advice: str

    def is_of(self, name: str | None, types: str | None, device_kind: str | None) -> bool:
        """Whether a kernel's name, or the types of its inputs, say that it computes in this precision."""
        if device_kind != "gpu":
            known = [kind for kind in dtypes(types) if kind is not None]
            return bool(known) and all(kind == self.dtype for kind in known)
        roles = compute_roles_facts().roles
        if self is _DOUBLE:
            return re.search(roles.double_precision_product, name or "") is not None
        return re.search(roles.full_precision_product, name or "") is not None and not on_tensor_cores(name or "")


_DOUBLE: Final = _Precision(
    "fp64", "double_precision", 0.25, "finding_title.double_precision", "finding_advice.double_precision"
)
_SINGLE: Final = _Precision(
    "fp32", "single_precision", 0.5, "finding_title.precision_headroom", "finding_advice.precision_headroom"
)


def judge(run: RunContext) -> list[Finding]:
    """Ranks whose products would save a part of the step in sixteen bits."""
    losses = [loss for precision in (_DOUBLE, _SINGLE) for loss in _losses(run, precision)]
    return findings_of(run, "precision_headroom", losses, Next(("flops", "operators"), "flops"))


def _losses(run: RunContext, precision: _Precision) -> list[Loss]:
    candidates = {
        rank: groups
        for rank, computing in run.computing.items()
        if computing.on_device
        and worth_telling(computing.share(float((groups := _products_in(run, computing, precision))["us"].sum())))
    }
    losses = []
    saved = _saved_share(run, candidates, precision)
    for rank, groups in candidates.items():
        computing = run.computing[rank]
        time_us = float(groups["us"].sum())
        share = computing.share(time_us * saved.share)
        if worth_telling(share):
            losses.append(_loss(run, computing, groups, saved, precision))
    return losses


def _products_in(run: RunContext, computing: Computing, precision: _Precision) -> pl.DataFrame:
    """Products whose kernels or element types say that they are computed in this precision."""
    groups = computing.groups.filter(pl.col("category").cast(pl.String).is_in(_PRODUCTS))
    chosen = [
        precision.is_of(name, types, run.device_kind(computing.rank))
        for name, types in groups.select(pl.col("name", "dtypes").cast(pl.String)).iter_rows()
    ]
    return groups.filter(pl.Series(chosen, dtype=pl.Boolean))


class _Saved:
    """Which part of the products' time would be saved, and how sure that is."""

    def __init__(self, share: float, confidence: Confidence) -> None:
        self.share = share
        self.confidence = confidence


def _saved_share(run: RunContext, candidates: dict[int, pl.DataFrame], precision: _Precision) -> _Saved:
    """By the arithmetic of the products where shapes tell it, else by the rates of the device."""
    counted = [
        share
        for rank in candidates
        if run.judges_arithmetic_of(rank) and (share := _by_shapes(run, rank, precision)) is not None
    ]
    if counted:
        return _Saved(statistics.median(counted), "likely")
    rates = [
        share
        for rank, groups in candidates.items()
        if (share := _by_rates(peaks_of(run.store, rank), groups, precision)) is not None
    ]
    return _Saved(statistics.median(rates), "likely") if rates else _Saved(1 - precision.half_bytes, "suspect")


def _by_shapes(run: RunContext, rank: int, precision: _Precision) -> float | None:
    peaks = peaks_of(run.store, rank)
    half = _half_rate(peaks)
    bandwidth = peaks.memory * finding_facts().reachable.share_of_bandwidth if peaks.memory else None
    entries = [
        entry
        for entry in counted_operators(run.store, rank, run.times[rank].steps)
        if entry.dtype == precision.dtype and entry.kind in _PRODUCTS
    ]
    spent = sum(entry.device_us or 0.0 for entry in entries)
    if half is None or not spent:
        return None
    left = precision.half_bytes
    ideal = sum(min(ideal_us(entry, half, bandwidth, left), entry.device_us or 0.0) for entry in entries)
    return 1 - ideal / spent


def _by_rates(peaks: Peaks, groups: pl.DataFrame, precision: _Precision) -> float | None:
    """By how much faster the device is in sixteen bits; no kernel gets shorter than the shortest ones are."""
    half, full = _half_rate(peaks), peaks.rate(precision.dtype)
    if half is None or full is None:
        return None
    shortest = pl.col("count") * finding_facts().reachable.least_kernel_us
    left = pl.min_horizontal("us", pl.max_horizontal(pl.col("us") * min(full / half, 1.0), shortest))
    return 1 - float(groups.select(left.sum()).item()) / float(groups["us"].sum())


def _half_rate(peaks: Peaks) -> float | None:
    rates = [rate for dtype in _HALF if (rate := peaks.rates.get(dtype)) is not None]
    return max(rates, default=None)


def _loss(run: RunContext, computing: Computing, groups: pl.DataFrame, saved: _Saved, precision: _Precision) -> Loss:
    time_us = float(groups["us"].sum())
    gain = time_us * saved.share
    operator = leading_operator(groups)
    return Loss(
        rank=computing.rank,
        cause=precision.cause,
        title=precision.title,
        advice=precision.advice,
        gain_us=gain,
        gain_share=computing.share(gain),
        gain_method="half_precision",
        where=Where(operator=operator, site=line_of(run.store, computing.rank, groups)),
        words={"operator": operator or "?"},
        confidence=saved.confidence,
        evidence=[
            number("full_precision_share", computing.share(time_us), "share", link="operators"),
            number("half_precision_saves_share", saved.share, "share", link="operators"),
        ],
        proof=longest_kernels(computing.rank, groups),
    )


RULE = Rule(kinds=("precision_headroom",), needs=("single_kernels",), judge=judge)
