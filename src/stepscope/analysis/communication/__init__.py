"""Communication: calls and their cost, who waits for whom and whom it goes back to, links and groups."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.cluster.clocks import clocks_of
from stepscope.analysis.cluster.matched_calls import numbered_calls
from stepscope.analysis.cluster.recorded_calls import recorded_calls
from stepscope.analysis.cluster.roots import roots
from stepscope.analysis.cluster.waits import waits
from stepscope.analysis.communication.groups import groups_of, unjoined
from stepscope.analysis.communication.hangs import never_joined
from stepscope.analysis.communication.links import links_of, matrix_of
from stepscope.analysis.communication.operations import operations_of
from stepscope.analysis.communication.types import Communication, Link, Wait
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.work import ranks_of
from stepscope.errors import NoAnswerError
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore

__all__ = ["Communication", "communication"]


@question()
def communication(
    store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> Answer[Communication]:
    """What the ranks asked for called, waited for and moved; calls are matched over all ranks all the same."""
    chosen = pl.col("rank").is_in(ranks_of(store, ranks))
    if steps:
        chosen &= pl.col("step").is_in(list(steps))
    calls = recorded_calls(store).with_columns(pl.col("group", "kind", "name").cast(pl.String))
    asked = calls.filter(chosen).collect()
    transfers = store.scan("transfers").filter(chosen)
    matrix = matrix_of(transfers)
    groups = groups_of(store)
    if asked.is_empty() and matrix.is_empty():
        raise NoAnswerError("no_communication")
    waited = waits(store)
    missing = unjoined(numbered_calls(store), groups, store.scan("steps").select("rank", "step").collect())
    answer = Communication(
        operations=operations_of(store, asked, waited, groups),
        waits=_blame(store, waited.rows, chosen),
        matrix=msgspec.convert(matrix.to_dicts(), list[Link]),
        links=links_of(matrix),
        groups=groups,
        unjoined=[call for call in missing if not steps or call.step in steps] + never_joined(store, groups),
        clocks=clocks_of(store),
    )
    return Answer(answer, _notes(store, answer))


def _blame(store: RunStore, waited: pl.DataFrame, chosen: pl.Expr) -> list[Wait]:
    """The blame matrix: each wait under the rank that came last and the rank that it goes back to."""
    parts = roots(store, waited).with_columns(pl.col("wait").cast(pl.UInt32), pl.col("root").cast(pl.Int32))
    rows = (
        parts.rename({"wait_ns": "part_ns"})
        .join(waited.with_row_index("wait").filter(chosen), on="wait")
        .group_by("rank", "blames", "root")
        .agg(wait_us=pl.col("part_ns").sum() / 1000, calls=pl.col("wait").n_unique())
        .sort("wait_us", "rank", "blames", "root", descending=[True, False, False, False])
    )
    return msgspec.convert(rows.select(Wait.__struct_fields__).to_dicts(), list[Wait])


def _notes(store: RunStore, answer: Communication) -> list[Note]:
    notes = []
    if len(store.ranks) == 1 and not answer.waits:
        notes.append(Note("waits_need_ranks"))
    if not answer.matrix:
        notes.append(Note("no_link_data"))
    return notes
