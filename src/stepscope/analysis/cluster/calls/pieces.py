"""The calls of a job in pieces that are matched one after the other: each holds all members of its calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from stepscope.analysis.cluster.calls.recorded import recorded_calls
from stepscope.analysis.cluster.calls.spilled_rows import ROWS_AT_ONCE
from stepscope.store.run_store import RunStore

_KEY: Final = ("group", "kind", "seq")


def call_pieces(store: RunStore) -> Iterator[pl.LazyFrame]:
    """Rows of ``recorded_calls``, by steps and groups; in one piece where a numbered call lies in several steps.

    Groups in which some call has no number are matched by order, in every piece of them alike.
    """
    calls = recorded_calls(store)
    if store.manifest.rows("collectives") <= ROWS_AT_ONCE:
        yield calls
        return
    groups = store.scan("collectives").group_by("group").agg(counted=pl.col("seq").null_count() == 0).collect()
    counted = groups.filter("counted")["group"].cast(pl.String)
    numbered = pl.col("group").cast(pl.String).is_in(counted.implode())
    if _in_several_steps(store, numbered):
        yield calls
        return
    calls = calls.with_columns(seq=pl.when(numbered).then("seq"))
    for steps, of_groups in _pieces(store):
        piece = calls.filter(pl.col("step").is_in(steps, nulls_equal=True))
        if of_groups is not None:
            piece = piece.filter(pl.col("group").cast(pl.String).is_in(of_groups, nulls_equal=True))
        yield piece


def _in_several_steps(store: RunStore, numbered: pl.Expr) -> bool:
    """Whether members of one numbered call belong to different steps, or some to none."""
    first, last, beyond = pl.col("step").min(), pl.col("step").max(), pl.col("step").null_count() > 0
    spans = (
        store.scan("collectives")
        .filter(numbered)
        .group_by(_KEY)
        .agg(apart=(first != last) | (beyond & first.is_not_null()))
    )
    return bool(spans.select(pl.col("apart").any()).collect().item())


def _pieces(store: RunStore) -> Iterator[tuple[list[int | None], list[str | None] | None]]:
    """Steps with few calls together; of a step with many some groups after the others."""
    counts = (
        store.scan("collectives")
        .group_by("step", pl.col("group").cast(pl.String))
        .len("rows")
        .sort("step", "group")
        .collect()
    )
    together: list[int | None] = []
    rows = 0
    for (step,), own in counts.group_by("step", maintain_order=True):
        more = int(own["rows"].sum())
        if together and rows + more > ROWS_AT_ONCE:
            yield together, None
            together, rows = [], 0
        number = None if step is None else int(str(step))
        if more <= ROWS_AT_ONCE:
            together, rows = [*together, number], rows + more
            continue
        part = (own["rows"].cum_sum() - own["rows"]) // ROWS_AT_ONCE
        for _, groups in own.with_columns(part=part).group_by("part", maintain_order=True):
            yield [number], groups["group"].to_list()
    if together:
        yield together, None
