"""Steps that are asked for are looked up before a question is answered, so that none is left out in silence."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.analysis.foundation.work import ranks_of
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges


def refuse_unknown_steps(
    store: RunStore, ranks: Sequence[int] | None, steps: Sequence[int], *, batches: bool = False
) -> None:
    """An error that names the steps which no chosen rank has. ``batches``: numbers of batches will do as well."""
    chosen = ranks_of(store, ranks)
    known = set(_numbers(store.scan("steps", chosen), pl.col("step")))
    if batches:
        known.update(_numbers(store.scan("pipeline_batches", chosen), pl.coalesce("step", "batch")))
    missing = [step for step in dict.fromkeys(steps) if step not in known]
    if missing:
        # Slices may carry steps that nothing marks.
        wanted = pl.col("step").is_in(missing)
        carried = {step for rank in chosen for step in _numbers(slices_of(store, rank).filter(wanted), pl.col("step"))}
        known |= carried
        missing = [step for step in missing if step not in carried]
    if not known:
        if batches:
            return  # the question says itself that it cannot tell steps
        raise NoAnswerError("no_steps")
    if missing:
        raise NoAnswerError("no_such_step", steps=ranges(missing), available=ranges(sorted(known)))


def _numbers(rows: pl.LazyFrame, number: pl.Expr) -> list[int]:
    numbers: list[int] = rows.select(number.drop_nulls().unique()).collect().to_series().to_list()
    return numbers
