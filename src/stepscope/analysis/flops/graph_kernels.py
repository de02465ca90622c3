"""FLOPs of operators that a graph captured once and runs at each launch, by kernels that carry operator and shapes.

The first kernel of an operator stands for the operator; links say which other kernels work for the same.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.flops.formulas import known_names
from stepscope.analysis.foundation.rank_tables import links_of
from stepscope.analysis.operators.nesting import NOWHERE, Nesting
from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore

#: The phase of operators that were recorded into a graph, not executed.
CAPTURED: Final = "capture"


def captured_operators() -> pl.Expr:
    """Which operators only took part in a capture: they are no calls."""
    return (pl.col("phase").cast(pl.String) == CAPTURED).fill_null(False)


def first_kernels(store: RunStore, rank: int) -> pl.DataFrame:
    """Kernels that stand for an operator with a formula: its ``name``, shapes and types, with the kernel's slice."""
    carries = pl.col("operator").is_in(known_names()) & pl.col("input_shapes").is_not_null()
    rows = store.scan("slices", [rank]).filter((pl.col("kind") == "kernel") & carries)
    texts = {"name": "operator", "input_shapes": "input_shapes", "dtypes": "dtypes"}
    kernels = rows.select("slice", "step", **{name: pl.col(column).cast(pl.String) for name, column in texts.items()})
    others = links_of(store, rank).filter(pl.col("kind") == "same_operator")["to_slice"]
    return kernels.collect().filter(~pl.col("slice").is_in(others.implode()))


def standing_for(store: RunStore, rank: int, nesting: Nesting) -> Int64s:
    """By position: that of the kernel that stands for the same operator, else NOWHERE."""
    first = np.full(nesting.size + 1, NOWHERE)
    links = links_of(store, rank).filter(pl.col("kind") == "same_operator")
    begin, end = (nesting.positions(links[name].to_numpy()) for name in ("from_slice", "to_slice"))
    known = (begin != NOWHERE) & (end != NOWHERE)
    first[end[known]] = begin[known]
    return first
