"""Is the input pipeline the limit, which stage, why, and how much faster could it go? (docs/metrics/pipeline.md)"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.work import Work, ranks_of, work_of
from stepscope.analysis.pipeline.batches import batch_times
from stepscope.analysis.pipeline.costs import Costs, costs_of
from stepscope.analysis.pipeline.loop import Loop, loop_of
from stepscope.analysis.pipeline.observed import Observed, observe
from stepscope.analysis.pipeline.processors import Processors, process_cores, processors_of, siblings
from stepscope.analysis.pipeline.queues import Queues, curves_of, queues_of
from stepscope.analysis.pipeline.structure import BatchTimes, Pipeline, PipelineOp, QueueCurve, Starving, Verdict
from stepscope.analysis.pipeline.verdict import verdict_of
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore

__all__ = ["Pipeline", "pipeline"]


@question(by_batch=True)
def pipeline(
    store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> Answer[Pipeline]:
    """Stages, queues, batches and the verdict of every rank that recorded its input pipeline."""
    observed, notes = observe(store, ranks_of(store, ranks), steps)
    used = {seen.rank: cores for seen in observed if (cores := process_cores(seen.cpu)) is not None}
    beside = siblings(used, _hosts(store))
    verdicts: list[Verdict] = []
    starving: list[Starving] = []
    ops: list[PipelineOp] = []
    curves: list[QueueCurve] = []
    batches: list[BatchTimes] = []
    for seen in observed:
        loop, queues = loop_of(seen, _device_work(store, seen)), queues_of(seen)
        processors = processors_of(seen.cpu, beside.get(seen.rank, 0.0))
        costs = costs_of(seen, loop.period_us, processors)
        verdicts.append(verdict_of(seen, loop, queues, processors, costs))
        starving.append(loop.starving)
        ops += _ops(seen, queues, processors, costs)
        curves += curves_of(seen)
        batches += batch_times(seen)
        notes += _missing(seen, loop)
    worst = max(verdicts, key=_loss)
    return Answer(Pipeline(worst, worst.op_name, verdicts, starving, ops, curves, batches), notes)


def _loss(verdict: Verdict) -> tuple[bool, float]:
    return verdict.bound not in {"none", "unknown"}, (verdict.potential_speedup or 1.0)


def _hosts(store: RunStore) -> dict[int, str | None]:
    return dict(store.scan("ranks").select("rank", pl.col("host").cast(pl.String)).collect().iter_rows())


def _device_work(store: RunStore, seen: Observed) -> Work | None:
    """The device's work, where a loop without sink may hide its waiting behind it."""
    return work_of(store, seen.rank) if seen.mode != "sink" and not seen.marks.is_empty() else None


def _ops(seen: Observed, queues: Queues, processors: Processors, costs: Costs) -> list[PipelineOp]:
    rows = seen.ops.select(
        "op",
        pl.coalesce("name", pl.col("op").cast(pl.String)).alias("name"),
        pl.col("kind").cast(pl.String),
        "workers",
        "capacity",
        pl.col("sink").fill_null(False),
    ).join(queues.statistics.drop("length"), on="op", how="left", maintain_order="left")
    starved = queues.starving_rounds > 0
    use, blame = (queues.starving_use, queues.blame) if starved else ({}, {})
    ops = []
    for row in rows.iter_rows(named=True):
        op, cores = row["op"], processors.op_cores.get(row["op"])
        ops.append(
            PipelineOp(
                **{**row, "samples": row["samples"] or 0},
                rank=seen.rank,
                parent=queues.tree.parent[op],
                children=queues.tree.children[op],
                depth=queues.tree.depth[op],
                starving_use_share=use.get(op),
                blame_share=blame.get(op),
                cpu_cores=cores,
                cpu_per_worker_share=None if cores is None else cores / max(row["workers"] or 1, 1),
                cost_us=costs.us.get(op),
            )
        )
    return sorted(ops, key=lambda entry: (-entry.depth, entry.op))


def _missing(seen: Observed, loop: Loop) -> list[Note]:
    """What else could have been recorded."""
    remarks = []
    if seen.ops.is_empty():
        remarks.append(Note("pipeline_stages_missing", rank=seen.rank))
    elif seen.works.is_empty() and seen.cpu.filter(pl.col("scope") == "op").is_empty():
        remarks.append(Note("pipeline_cpu_missing", rank=seen.rank))
    if seen.mode == "sink" and loop.device_empty_share is None:
        remarks.append(Note("pipeline_device_queue_missing", rank=seen.rank))
    if seen.mode != "sink" and loop.wait_us is None:
        remarks.append(Note("pipeline_waits_missing", rank=seen.rank))
    if loop.period_us is None:
        remarks.append(Note("pipeline_period_missing", rank=seen.rank))
    return remarks
