"""Communication: calls and their cost, who waits for whom and whom it goes back to, links and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.cluster.calls.matched import numbered_calls
from stepscope.analysis.cluster.clocks import clocks_of
from stepscope.analysis.cluster.waiting.roots import roots
from stepscope.analysis.communication.asked_calls import AskedCalls
from stepscope.analysis.communication.distributions import durations_of, packets_of
from stepscope.analysis.communication.groups import groups_of, unjoined
from stepscope.analysis.communication.hangs import never_joined
from stepscope.analysis.communication.links import links_of, matrix_of
from stepscope.analysis.communication.operations import operations_of, times_by_rank
from stepscope.analysis.communication.types import Communication, Link, Wait
from stepscope.analysis.foundation.kept import kept
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.analysis.foundation.question import AtLeast, question
from stepscope.errors import NoAnswerError
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.typed import typed

__all__ = ["Communication", "communication"]

_MADE_FROM: Final = ("analysis", "facts", "store")


@question()
def communication(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    group: str | None = None,
    operation: str | None = None,
    limit: Annotated[int | None, AtLeast(1)] = None,
) -> Answer[Communication]:
    """What the chosen ranks called, waited for and moved; calls are always matched across all ranks."""
    if ranks or steps or group or operation:
        answer = _work_out(store, ranks=ranks, steps=steps, group=group, operation=operation)
    else:
        answer = kept(store, "communication", Communication, _MADE_FROM, _work_out)
    return _limited(Answer(answer, _notes(store, answer)), limit)


def _work_out(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    group: str | None = None,
    operation: str | None = None,
) -> Communication:
    asked = AskedCalls(store, ranks, steps, group, operation)
    matrix = matrix_of(asked.transfers)
    groups = groups_of(store)
    if asked.recorded.is_empty() and matrix.is_empty():
        raise NoAnswerError("no_communication")
    calls, waited = asked.timed()
    missing = unjoined(numbered_calls(store), groups, store.scan("steps").select("rank", "step").collect())
    missing = [call for call in missing if not steps or call.step in steps] + never_joined(store, groups)
    return Communication(
        operations=operations_of(calls, groups),
        by_rank=times_by_rank(calls),
        durations=durations_of(calls),
        waits=_blame(store, waited.rows, asked.recorded),
        matrix=typed(matrix.to_dicts(), list[Link]),
        links=links_of(matrix),
        packets=packets_of(asked.transfers),
        groups=groups,
        unjoined=[call for call in missing if group is None or call.group == group],
        clocks=clocks_of(store),
    )


def _limited(answer: Answer[Communication], limit: int | None) -> Answer[Communication]:
    """Thousands of ranks wait for each other in a hundred thousand ways, most of them for no time at all."""
    waits = answer.data.waits
    if limit is None or len(waits) <= limit:
        return answer
    shown, left = waits[:limit], waits[limit:]
    time = sum(each.wait_us for each in waits)
    percent = 100 * sum(each.wait_us for each in left) / time if time else 0.0
    note = Note("waits_left_out", {"shown": str(limit), "share": f"{percent:.1f}"}, count=len(left))
    return Answer(msgspec.structs.replace(answer.data, waits=shown), [*answer.notes, note])


def _blame(store: RunStore, waited: pl.DataFrame, asked: pl.DataFrame) -> list[Wait]:
    """The blame matrix: each wait under the rank that came last and the rank that it goes back to."""
    parts = roots(store, waited).with_columns(pl.col("wait").cast(pl.UInt32), pl.col("root").cast(pl.Int32))
    in_asked = waited.with_row_index("wait").join(
        asked.select(pl.col("rank"), pl.col("slice").cast(pl.Int64)), on=["rank", "slice"], how="semi"
    )
    rows = (
        parts.rename({"wait_ns": "part_ns"})
        .join(in_asked, on="wait")
        .group_by("rank", "blames", "root")
        .agg(wait_us=in_microseconds(pl.col("part_ns").sum()), calls=pl.col("wait").n_unique())
        .sort("wait_us", "rank", "blames", "root", descending=[True, False, False, False])
    )
    return typed(rows.select(Wait.__struct_fields__).to_dicts(), list[Wait])


def _notes(store: RunStore, answer: Communication) -> list[Note]:
    notes = []
    if len(store.ranks) == 1 and not answer.waits:
        notes.append(Note("waits_need_ranks"))
    if not answer.matrix:
        notes.append(Note("no_link_data"))
    return notes
