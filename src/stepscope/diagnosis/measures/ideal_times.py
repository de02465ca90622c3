"""How long operators of a rank would take at rates that kernels reach on its device, by the shapes of their inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from stepscope.analysis.flops.peaks import peaks_of
from stepscope.analysis.flops.question import Flops
from stepscope.analysis.flops.rates import OperatorFlops
from stepscope.analysis.flops.shapes import dtypes, shapes
from stepscope.diagnosis.measures.computing import Computing
from stepscope.errors import NoAnswerError
from stepscope.facts.findings import finding_facts
from stepscope.facts.flops import flops_facts
from stepscope.questions.registry import QUESTIONS
from stepscope.store.run_store import RunStore

#: An operator reads its inputs and writes at most as much.
_READS_AND_WRITES = 2


@dataclass(frozen=True)
class Streams:
    """What an operator moves through memory in a step, and how often it is called."""

    bytes: float
    calls: float

    def ideal_us(self, bandwidth: float) -> float:
        """At the bandwidth that is reached; no call is shorter than the shortest kernel."""
        return max(self.bytes / bandwidth * 1e6, self.calls * finding_facts().reachable.least_kernel_us)


def operator_streams(store: RunStore, rank: int, steps: list[int]) -> dict[str, Streams]:
    """By operator, per step; kernels that carry shapes themselves (NPU) count under the operator that they name."""
    wanted = pl.col("kind").is_in(["operator", "kernel"]) & pl.col("input_shapes").is_not_null()
    rows = store.scan("slices", [rank]).filter(wanted & pl.col("step").is_in(steps))
    named = pl.when(pl.col("kind") == "kernel").then(pl.coalesce("operator", "type")).otherwise(pl.col("name"))
    grouped = rows.group_by("kind", pl.col("input_shapes", "dtypes").cast(pl.String), named=named.cast(pl.String))
    calls = grouped.agg(pl.len()).collect()
    # Where kernels carry shapes, operators repeat them.
    own = calls.filter(pl.col("kind") == "kernel")
    calls = own if len(own) else calls
    streams: dict[str, Streams] = {}
    for _, shape, dtype, name, count in calls.select("kind", "input_shapes", "dtypes", "named", "len").iter_rows():
        before = streams.get(name or "", Streams(0.0, 0.0))
        size = _input_bytes(shape, dtype) * _READS_AND_WRITES
        streams[name or ""] = Streams(before.bytes + size * count / len(steps), before.calls + count / len(steps))
    return streams


def reached_bandwidth(store: RunStore, computing: Computing, streams: dict[str, Streams]) -> float | None:
    """Bytes per second that kernels reach: a share of the published rate, else the best of this run."""
    published = peaks_of(store, computing.rank).memory
    if published:
        return published * finding_facts().reachable.share_of_bandwidth
    times = _times_by_operator(computing)
    noticeable = computing.period_us * finding_facts().strength.mild_share / 10
    rates = [streams[name].bytes / us * 1e6 for name, us in times.items() if name in streams and us >= noticeable]
    return max(rates, default=None)


def _times_by_operator(computing: Computing) -> dict[str, float]:
    totals = computing.groups.group_by(pl.col("operator").cast(pl.String)).agg(pl.col("us").sum())
    return {name: us for name, us in totals.iter_rows() if name}


def counted_operators(store: RunStore, rank: int, steps: list[int]) -> list[OperatorFlops]:
    """Operators whose arithmetic is known; none where no shape tells it."""
    try:
        answer: Flops = QUESTIONS["flops"].ask(store, ranks=[rank], steps=steps).data
    except NoAnswerError:
        return []
    return [entry for entry in answer.operators if entry.device_us]


def ideal_us(entry: OperatorFlops, peak: float, bandwidth: float | None, bytes_share: float = 1.0) -> float:
    """How long all calls of an operator would take at a peak rate; ``bytes_share`` for shorter numbers."""
    by_arithmetic = entry.flops / (peak * finding_facts().reachable.share_of_peak) * 1e6
    by_memory = entry.bytes * bytes_share / bandwidth * 1e6 if entry.bytes and bandwidth else 0.0
    return max(by_arithmetic, by_memory, entry.count * finding_facts().reachable.least_kernel_us)


def _input_bytes(shape: str | None, dtype: str | None) -> int:
    sizes = flops_facts().dtype_bytes
    types = dtypes(dtype)
    tensors = [(at, tensor) for at, tensor in enumerate(shapes(shape)) if tensor]
    default = next((sizes[known] for known in types if known in sizes), 4)
    return sum(
        math.prod(tensor) * sizes.get((types[at] if at < len(types) else None) or "", default) for at, tensor in tensors
    )
