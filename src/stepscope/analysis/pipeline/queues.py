"""How full the queues between the stages were: on average, and while the training had nothing to take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.pipeline.curves import kept_points
from stepscope.analysis.pipeline.observed import Observed
from stepscope.analysis.pipeline.structure import QueueCurve
from stepscope.analysis.pipeline.tree import Tree, Way, tree_of, way_of
from stepscope.facts.pipeline import pipeline_facts


@dataclass(frozen=True)
class Queues:
    """Statistics per stage, the way of the data, and the use of its queues while the last one was empty."""

    statistics: pl.DataFrame
    tree: Tree
    way: Way
    starving_use: dict[int, float]
    starving_rounds: int
    rounds: int
    last_empty_share: float | None

    @property
    def blame(self) -> dict[int, float]:
        """How much fuller the input of each stage was than its output. Over the way, and what takes from it, 1 in all.

        A reader's input, the data set, is always there.
        """
        before, blames = 1.0, {}
        for stage in self.way.stages:
            after = self.starving_use[stage.op]
            blames[stage.op] = before - after
            before = after
        return blames


def queues_of(seen: Observed) -> Queues:
    """The queues of one rank."""
    capacity = pl.col("capacity").first()
    looked = seen.samples.join(seen.ops.select("op", "capacity"), on="op", how="left", maintain_order="left")
    looked = looked.with_columns(pl.when(pl.col("capacity") > 0).then("capacity").alias("capacity"))
    fill = pl.col("queue")
    statistics = looked.group_by("op", maintain_order=True).agg(
        samples=pl.len(),
        queue_mean=fill.mean(),
        use_share=fill.mean() / capacity,
        use_p50_share=fill.median() / capacity,
        empty_share=(fill <= 0).mean(),
        full_share=(fill >= pl.col("capacity")).mean(),
        # Where the length is not recorded, the fullest sample stands for it.
        length=pl.coalesce(capacity, fill.max()).clip(lower_bound=1),
    )
    tree = tree_of(seen.ops)
    sinks = set(seen.sinks)
    use = {op: mean / length for op, mean, length in statistics.select("op", "queue_mean", "length").iter_rows()}
    way = way_of(tree, sinks, use)
    if not way.stages:
        return Queues(statistics, tree, way, {}, 0, 0, None)
    rounds = _rounds(seen.samples, way)
    last = str(way.stages[-1].op)
    half = rounds.slice(int(len(rounds) * pipeline_facts().loop.settled_from_share))
    empty = pl.col(last) <= 0
    fed = _while_fed(rounds.filter(empty), str(way.stages[0].op))
    starving = _judged(half.filter(empty).join(fed, on="time_ns", how="semi"), fed, rounds)
    lengths = dict(statistics.select("op", "length").iter_rows())
    means = {stage.op: _mean(starving[str(stage.op)]) / lengths[stage.op] for stage in way.stages}
    starved = len(starving) if (starving[last] <= 0).all() else 0
    return Queues(statistics, tree, way, means, starved, len(rounds), _mean((half[last] <= 0).cast(pl.Float64)))


def _rounds(samples: pl.DataFrame, way: Way) -> pl.DataFrame:
    """The fill of every queue of the way at each look at the last one."""
    last = way.stages[-1].op
    rounds = samples.filter(pl.col("op") == last).select("time_ns", pl.col("queue").alias(str(last)))
    for stage in way.stages[:-1]:
        other = samples.filter(pl.col("op") == stage.op).select("time_ns", pl.col("queue").alias(str(stage.op)))
        rounds = rounds.join_asof(other, on="time_ns", strategy="nearest")
    return rounds


def _while_fed(starving: pl.DataFrame, reader: str) -> pl.DataFrame:
    """Without the end, when the data set is used up and queues run dry from the reader on.

    So it looks when a reader whose queue had something almost always while the training waited gives nothing any more.
    """
    limits = pipeline_facts()
    filled = (starving[reader] > 0).to_numpy()
    until = int(filled.nonzero()[0][-1]) + 1 if filled.any() else 0
    well_fed = until >= limits.loop.least_settled and filled[:until].mean() >= limits.queue.high_use_share
    return starving.head(until) if well_fed else starving


def _judged(*choices: pl.DataFrame) -> pl.DataFrame:
    """The first choice with enough rounds, else the last that has any."""
    least = pipeline_facts().loop.least_settled
    enough = [rows for rows in choices if len(rows) >= least]
    return enough[0] if enough else next(rows for rows in reversed(choices) if len(rows))


def _mean(values: pl.Series) -> float:
    return float(np.mean(values.to_numpy())) if len(values) else 0.0


def curves_of(seen: Observed) -> list[QueueCurve]:
    """The curve of each queue, with no more points than a page can show."""
    most = pipeline_facts().curves.largest_points
    capacity = dict(seen.ops.select("op", "capacity").iter_rows())
    curves = []
    for (op,), rows in seen.samples.group_by("op", maintain_order=True):
        kept = rows[kept_points(rows["queue"].to_numpy().astype(np.float64), most)]
        number = int(str(op))
        name = seen.stages[number].name if number in seen.stages else str(number)
        curves.append(
            QueueCurve(
                seen.rank, number, name, capacity.get(number), kept["time_ns"].to_list(), kept["queue"].to_list()
            )
        )
    return curves
