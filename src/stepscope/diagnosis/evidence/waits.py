"""What others did while they waited for a rank, and what it did meanwhile: the proof that it came late."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.finding import Proof
from stepscope.facts.findings import finding_facts


def waits_as_proof(run: RunContext, blamed: int, waiting: Collection[int]) -> list[Proof]:
    """The longest waits for a rank, one of each that waited: first its own time until it came, then theirs.

    Ranks without a stretch of time where it is not known in which calls they waited.
    """
    rows = (
        run.waits_for(blamed)
        .filter(pl.col("rank").is_in(list(waiting)) & pl.col("step").is_not_null())
        .sort("wait_ns", descending=True, maintain_order=True)
        .unique("rank", keep="first", maintain_order=True)
        .head(finding_facts().lists.most_proofs)
    )
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
