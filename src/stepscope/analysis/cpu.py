"""Use of processors by machine, process, workers and pipeline stages over time, and who else takes them.

All numbers are cores: 1.5 is one and a half cores busy (docs/metrics/cpu.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.units import Cores, Count, Identifier, MeanCount, Nanoseconds, PerSecond, Share
from stepscope.analysis.foundation.work import ranks_of
from stepscope.analysis.pipeline.curves import kept_points
from stepscope.analysis.pipeline.observed import batch_clocks, marked_steps, timed_batches
from stepscope.analysis.pipeline.processors import (
    mean_over_time,
    p95_over_time,
    process_cores,
    processors_of,
    siblings,
    with_busy,
    with_lengths,
)
from stepscope.analysis.pipeline.step_clock import StepClock, step_clock
from stepscope.errors import NoAnswerError
from stepscope.facts.pipeline import pipeline_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges

_SCOPES: Final = ("machine", "process", "worker", "op")


class CpuRank(msgspec.Struct, frozen=True):
    """The processors of a rank's machine, and who uses them."""

    rank: Identifier
    cores: Count | None
    machine_busy_share: Share | None
    process_cores: Cores | None
    sibling_cores: Cores
    other_cores: Cores | None
    other_share: Share | None
    contended: bool | None
    runnable_mean: MeanCount | None
    waiting_mean: MeanCount | None
    crowded_share: Share | None
    context_switches_per_s: PerSecond | None
    unit: Literal["step", "batch"] | None


class CpuUse(msgspec.Struct, frozen=True):
    """One user of processors: means over the time of all its samples."""

    rank: Identifier
    scope: str
    id: Identifier | None
    name: str | None
    samples: Count
    user_cores: Cores | None
    system_cores: Cores | None
    io_cores: Cores | None
    idle_cores: Cores | None
    busy_cores: Cores | None
    busy_p95_cores: Cores | None
    busy_max_cores: Cores | None
    workers: Count | None
    per_worker_share: Share | None


class CpuStep(msgspec.Struct, frozen=True):
    """One user of processors within a step."""

    rank: Identifier
    step: Identifier
    scope: str
    id: Identifier | None
    samples: Count
    user_cores: Cores | None
    system_cores: Cores | None
    busy_cores: Cores | None


class CpuCurve(msgspec.Struct, frozen=True):
    """One user of processors over time; the extremes of every stretch are kept."""

    rank: Identifier
    scope: str
    id: Identifier | None
    name: str | None
    time_ns: list[Nanoseconds]
    step: list[Identifier | None]
    user_cores: list[Cores | None]
    system_cores: list[Cores | None]
    busy_cores: list[Cores | None]


class Cpu(msgspec.Struct, frozen=True):
    """Use of processors in a run."""

    ranks: list[CpuRank]
    uses: list[CpuUse]
    steps: list[CpuStep]
    curves: list[CpuCurve]


@question(by_batch=True)
def cpu(store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None) -> Answer[Cpu]:
    """Means, means per step and curves of everything that was sampled."""
    chosen = ranks_of(store, ranks)
    rows = with_lengths(store.scan("cpu", chosen).sort("time_ns").collect())
    if rows.is_empty():
        raise NoAnswerError("no_cpu")
    by_rank = {int(rank): part for (rank,), part in rows.partition_by("rank", as_dict=True).items()}
    hosts = dict(store.scan("ranks").select("rank", pl.col("host").cast(pl.String)).collect().iter_rows())
    beside = siblings({rank: used for rank, part in by_rank.items() if (used := process_cores(part))}, hosts)
    answer, notes = Cpu([], [], [], []), []
    for rank in chosen:
        if rank not in by_rank:
            notes.append(Note("cpu_not_recorded", rank=rank))
            continue
        samples, clock = _by_step(store, rank, by_rank[rank], notes)
        if steps and clock is not None:
            samples = samples.filter(pl.col("step").is_in(list(steps)))
        if not samples.is_empty():
            answer.ranks.append(_of_rank(rank, samples, clock, beside.get(rank, 0.0), notes))
            answer.uses.extend(_uses(store, rank, samples))
            answer.steps.extend(_steps(rank, samples))
            answer.curves.extend(_curves(store, rank, samples))
    if not answer.ranks:
        raise NoAnswerError("step_without_data", steps=ranges(steps or []))
    return Answer(answer, notes)


def _by_step(
    store: RunStore, rank: int, rows: pl.DataFrame, notes: list[Note]
) -> tuple[pl.DataFrame, StepClock | None]:
    """The samples with their ``busy`` cores and the step they end in."""
    moments = rows["time_ns"].to_numpy()
    recorded = store.scan("pipeline_batches", [rank]).collect()
    clocks = batch_clocks(store, rank)
    batches = timed_batches(recorded, clocks.get("sink", clocks.get("feed")))
    clock = step_clock(marked_steps(store, rank), batches, moments)
    if clock is None:
        notes.append(Note("cpu_steps_unknown", rank=rank))
    elif clock.by_batch:
        notes.append(Note("cpu_batches_are_steps", rank=rank))
    step = clock.at(moments) if clock is not None else pl.Series([None] * len(rows), dtype=pl.Int64)
    return with_busy(rows).with_columns(step.alias("step")), clock


def _of_rank(
    rank: int, samples: pl.DataFrame, clock: StepClock | None, sibling_cores: float, notes: list[Note]
) -> CpuRank:
    limits = pipeline_facts().processors
    seen = processors_of(samples, sibling_cores)
    if seen.cores is None:
        notes.append(Note("cpu_cores_unknown", rank=rank))
    runnable = samples.filter(pl.col("scope") == "machine").select(mean_over_time("runnable")).item()
    waiting = samples.filter(pl.col("scope") == "process").select(mean_over_time("waiting")).item()
    return CpuRank(
        rank=rank,
        cores=seen.cores,
        machine_busy_share=seen.busy_share,
        process_cores=seen.process_cores,
        sibling_cores=seen.sibling_cores,
        other_cores=seen.other_cores,
        other_share=seen.other_share,
        contended=None if seen.other_share is None else seen.other_share > limits.other_processes_share,
        runnable_mean=None if runnable is None else float(runnable),
        waiting_mean=None if waiting is None else float(waiting),
        crowded_share=seen.crowded_share,
        context_switches_per_s=seen.switches_per_s,
        unit=None if clock is None else "batch" if clock.by_batch else "step",
    )


def _stages(store: RunStore, rank: int) -> dict[int, tuple[str | None, int | None]]:
    rows = store.scan("pipeline_ops", [rank]).select("op", "name", "workers").collect()
    return {op: (name, workers) for op, name, workers in rows.iter_rows()}


def _uses(store: RunStore, rank: int, samples: pl.DataFrame) -> Iterator[CpuUse]:
    stages = _stages(store, rank)
    rows = samples.group_by("scope", "id", maintain_order=True).agg(
        pl.len().alias("samples"),
        *(mean_over_time(state).alias(f"{state}_cores") for state in ("user", "system", "io", "idle", "busy")),
        busy_p95_cores=p95_over_time("busy"),
        busy_max_cores=pl.col("busy").max(),
    )
    for row in _in_order(rows).iter_rows(named=True):
        name, workers = stages.get(row["id"], (None, None)) if row["scope"] == "op" else (None, None)
        share = row["busy_cores"] / workers if workers and row["busy_cores"] is not None else None
        yield CpuUse(**row, rank=rank, name=name, workers=workers, per_worker_share=share)


def _steps(rank: int, samples: pl.DataFrame) -> Iterator[CpuStep]:
    rows = (
        samples.drop_nulls("step")
        .group_by("step", "scope", "id", maintain_order=True)
        .agg(
            pl.len().alias("samples"),
            *(mean_over_time(state).alias(f"{state}_cores") for state in ("user", "system", "busy")),
        )
    )
    for row in _in_order(rows, "step").iter_rows(named=True):
        yield CpuStep(rank=rank, **row)


def _curves(store: RunStore, rank: int, samples: pl.DataFrame) -> Iterator[CpuCurve]:
    stages = _stages(store, rank)
    most = pipeline_facts().curves.largest_points
    for (scope, number), rows in _in_order(samples).group_by("scope", "id", maintain_order=True):
        busy = rows["busy"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        kept = rows[kept_points(busy, most)]
        yield CpuCurve(
            rank=rank,
            scope=str(scope),
            id=number if isinstance(number, int) else None,
            name=stages.get(number, (None, None))[0] if scope == "op" and isinstance(number, int) else None,
            time_ns=kept["time_ns"].to_list(),
            step=kept["step"].to_list(),
            user_cores=kept["user"].to_list(),
            system_cores=kept["system"].to_list(),
            busy_cores=kept["busy"].to_list(),
        )


def _in_order(rows: pl.DataFrame, *first: str) -> pl.DataFrame:
    """From the machine to the smallest user."""
    scope_rank = pl.col("scope").replace_strict(list(_SCOPES), list(range(len(_SCOPES))), default=len(_SCOPES))
    return rows.sort(*first, scope_rank, "id", maintain_order=True)
