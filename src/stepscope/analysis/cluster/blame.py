"""How long each rank waited, was waited for, and was late in the steps that count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import polars as pl

from stepscope.analysis.cluster.calls.spilled_rows import SpilledRows
from stepscope.analysis.cluster.job_calls import JobCalls
from stepscope.analysis.cluster.rank_rows import Blame
from stepscope.analysis.cluster.waiting.delays import delays_of
from stepscope.analysis.cluster.waiting.roots import Holds
from stepscope.analysis.foundation.computing_time import computing_of
from stepscope.analysis.foundation.intervals import Intervals, union
from stepscope.analysis.step_statistics import typical
from stepscope.store.run_store import RunStore


def blame_of(store: RunStore, trace: pl.DataFrame, calls: JobCalls) -> Blame:
    """Of all ranks, some of them at a time; ``trace`` are the steps of all."""
    counted = typical(trace).select("rank", "step")
    ranks = sorted(store.ranks)
    holds = Holds()
    for waits in _blocks(calls.waits, ranks):
        holds.add(store, waits)
    waited: dict[int, float] = {}
    in_pipeline: dict[int, float] = {}
    caused: Counter[int] = Counter()
    for waits in _blocks(calls.waits, ranks):
        numbered = waits.with_row_index("wait")
        in_step = numbered.join(counted, on=["rank", "step"], how="semi", maintain_order="left")
        pairs = calls.in_pipeline.of_ranks(waits["rank"].unique().to_list())
        waited |= {rank: float(spans.length) for rank, spans in _waited(in_step)}
        stages = in_step.join(pairs, on=["rank", "slice"], how="semi", maintain_order="left")
        in_pipeline |= {rank: _not_computing(store, rank, spans) for rank, spans in _waited(stages)}
        parts = holds.roots(waits).with_columns(pl.col("wait").cast(pl.UInt32))
        of_root = (
            parts.join(in_step.select("wait"), on="wait", how="semi").group_by("root").agg(pl.col("wait_ns").sum())
        )
        caused.update(dict(of_root.iter_rows()))
    late: dict[int, int] = {}
    for own_calls in _blocks(calls.late, ranks):
        delays = delays_of(own_calls).join(counted, on=["rank", "step"], how="semi")
        late |= dict(delays.group_by("rank").agg(pl.col("delay_ns").sum()).iter_rows())
    return Blame(waited=waited, in_pipeline=in_pipeline if len(calls.in_pipeline) else None, caused=caused, late=late)


def _blocks(rows: SpilledRows, ranks: list[int]) -> Iterator[pl.DataFrame]:
    """Rows of some ranks at a time, where these have any."""
    for block in rows.blocks(ranks):
        own = rows.of_ranks(block)
        if not own.is_empty():
            yield own


def _waited(waits: pl.DataFrame) -> Iterator[tuple[int, Intervals]]:
    """When each rank waited, however many calls were under way."""
    for (rank,), own in waits.group_by("rank"):
        start = own["start_ns"].to_numpy()
        yield int(str(rank)), union(start, start + own["wait_ns"].to_numpy())


def _not_computing(store: RunStore, rank: int, waited: Intervals) -> float:
    """How long a rank only waited. A receive that was posted early costs nothing while it computes."""
    covered = computing_of(store, rank).covered_within(waited.start, waited.end)
    return float(waited.length - covered.sum())
