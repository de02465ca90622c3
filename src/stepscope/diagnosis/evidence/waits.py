"""What others did while they waited for a rank, and what it did meanwhile: the proof that it came late."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from stepscope.analysis.foundation.computing_time import computing_of
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.finding import Proof
from stepscope.facts.findings import finding_facts


def waits_as_proof(run: RunContext, blamed: int, waiting: Collection[int]) -> list[Proof]:
    """The wait in which they lost most, in each rank that waited: first its own time until it came, then theirs.

    Ranks without a stretch of time where it is not known in which calls they waited.
    """
    rows = _worst_call_first(
        run,
        run.waits_for(blamed).filter(pl.col("rank").is_in(list(waiting)) & pl.col("step").is_not_null()),
    )
    rows = rows.unique("rank", keep="first", maintain_order=True).head(finding_facts().lists.most_proofs)
    theirs = [
        Proof(rank=rank, page="timeline", slices=[] if part is None else [part], start_ns=start, end_ns=start + wait)
        for rank, part, start, wait in rows.select("rank", "slice", "start_ns", "wait_ns").iter_rows()
    ]
    if blamed not in run.ranks:
        return theirs or [Proof(rank=rank, page="timeline") for rank in waiting]
    came = rows.filter(pl.col("came_ns").is_not_null()).head(1)
    if came.is_empty():
        return [Proof(rank=blamed, page="timeline"), *theirs]
    came_ns, wait_ns = came.select("came_ns", "wait_ns").row(0)
    return [Proof(rank=blamed, page="timeline", start_ns=came_ns - wait_ns, end_ns=came_ns), *theirs]


def _worst_call_first(run: RunContext, rows: pl.DataFrame) -> pl.DataFrame:
    """Waits by length, those of the call first in which the rank that waits most had least to compute meanwhile.

    While a gradient is reduced beside backward, waiting costs nothing; the longest waits are often such ones.
    """
    rows = rows.sort("wait_ns", descending=True, maintain_order=True)
    if rows["came_ns"].is_null().all():  # of a rank that was not captured, it is not known in which call it came
        return rows
    most = rows.group_by("rank", maintain_order=True).agg(pl.col("wait_ns").sum()).sort("wait_ns", descending=True)
    own = rows.filter(pl.col("rank") == most["rank"][0])
    start, wait = own["start_ns"].to_numpy(), own["wait_ns"].to_numpy()
    lost = wait - computing_of(run.store, most["rank"][0]).covered_within(start, start + wait)
    worst = own.row(int(lost.argmax()), named=True)
    is_worst = (pl.col("rank") == worst["rank"]) & (pl.col("start_ns") == worst["start_ns"])
    of_call = is_worst | (pl.col("came_ns") == worst["came_ns"]).fill_null(value=False)
    return rows.sort(is_worst, of_call, "wait_ns", descending=True, maintain_order=True)
