"""The question ``ranks``: each rank of a job, its coordinates, its mean step, what it waited and made others wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from stepscope.analysis.answer import Answer
from stepscope.analysis.cluster.job import job_of
from stepscope.analysis.cluster.plan import plan_of
from stepscope.analysis.cluster.rank_rows import RankRow
from stepscope.analysis.foundation.question import OneOf, question
from stepscope.analysis.foundation.work import ranks_of
from stepscope.errors import NoAnswerError, UsageError
from stepscope.store.run_store import RunStore


class Ranks(msgspec.Struct, frozen=True):
    """The ranks asked for, in the order asked for."""

    ranks: list[RankRow]


@question()
def ranks(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    sort: Annotated[
        str,
        OneOf(
            "rank",
            "period",
            "computing",
            "communication",
            "idle",
            "wait",
            "caused_wait",
            "delay",
            "memory",
            "flops",
            "deviation",
        ),
    ] = "rank",
    stage: int | None = None,
    host: str | None = None,
    dimension: str | None = None,
    outliers: bool = False,
) -> Answer[Ranks]:
    """Sorted by a number, largest first; ``dimension`` is one of the plan with an index, such as ``dp=3``."""
    chosen = set(ranks_of(store, ranks))
    if dimension is not None:
        chosen &= set(_line(store, dimension))
    rows = [
        row
        for row in job_of(store).ranks
        if row.rank in chosen
        and (stage is None or row.pp == stage)
        and (host is None or row.host == host)
        and (not outliers or row.outliers)
    ]
    if not rows:
        raise NoAnswerError("no_such_ranks")
    if sort != "rank":
        name = _COLUMN[sort]
        rows.sort(key=lambda row: (-(getattr(row, name) or 0.0), row.rank))
    return Answer(Ranks(rows), [*plan_of(store).notes(), *job_of(store).remarks()])


_COLUMN = {
    "period": "period_us",
    "computing": "computing_us",
    "communication": "exposed_communication_us",
    "idle": "idle_us",
    "wait": "wait_us",
    "caused_wait": "caused_wait_us",
    "delay": "delay_us",
    "memory": "peak_memory_bytes",
    "flops": "flops_per_s",
    "deviation": "deviation_share",
}


def _line(store: RunStore, dimension: str) -> list[int]:
    """Ranks with one index in a dimension."""
    name, _, index = dimension.partition("=")
    plan = plan_of(store)
    if name not in {each.dimension for each in plan.dimensions} or not index.isdecimal():
        known = ", ".join(f"{each.dimension}=0…{each.size - 1}" for each in plan.dimensions)
        raise UsageError("no_such_dimension", dimension=dimension, dimensions=known)
    return plan.lines(name).get(int(index), [])
