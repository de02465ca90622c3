"""FLOPs that repeat the forward pass, whose results were not kept: they count for the device, not for the model."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope import facts
from stepscope.analysis.operators.nesting import NOWHERE
from stepscope.analysis.operators.ownership import Ownership


def is_recomputed(column: str) -> pl.Expr:
    """Whether a name is that of an operator that does the forward pass once more."""
    return pl.col(column).str.contains(facts.table("flops")["recomputation"]["pattern"]).fill_null(False)


def with_recomputation(calls: pl.DataFrame, slices: pl.LazyFrame, owners: Ownership) -> pl.DataFrame:
    """Calls, with ``again`` set for all that a checkpoint's backward runs itself.

    What lies in a further node of the backward pass, inside the checkpoint's, is the backward pass proper.
    """
    names = slices.filter(pl.col("kind") == "operator").select(pl.col("name").unique()).collect()["name"]
    table = facts.table("flops")["recomputation"]
    texts = names.cast(pl.String)
    again, nodes = (names.filter(texts.str.contains(table[key])) for key in ("pattern", "node"))
    if not len(again):
        return calls
    rows = slices.filter((pl.col("kind") == "operator") & pl.col("name").is_in(pl.concat([again, nodes]).implode()))
    found = rows.select("slice", again=pl.col("name").is_in(again.implode())).collect()
    places = owners.nesting.places(found["slice"].to_numpy())
    node, repeats = (np.zeros(owners.nesting.size + 1, bool) for _ in range(2))
    node[places], repeats[places] = True, found["again"].to_numpy()
    around = owners.above[calls["place"].to_numpy()]
    while (climbing := (around != NOWHERE) & ~node[around]).any():
        around = np.where(climbing, owners.above[around], around)
    repeated = pl.Series((around != NOWHERE) & repeats[around])
    return calls.with_columns(again=pl.when(repeated).then("flops").otherwise("again"))
