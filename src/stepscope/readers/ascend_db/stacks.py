"""Call stacks of ``PYTORCH_CALLCHAINS``, which lists them frame by frame, the innermost first."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Int64s
from stepscope.readers.ascend_db.database_reading import DatabaseReading
from stepscope.readers.ascend_db.joins import first_match
from stepscope.readers.ascend_db.strings import UNKNOWN, as_texts
from stepscope.readers.ascend_db.timeline import numbers
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.store.nesting import nearest


def read_stacks(reading: DatabaseReading, wanted: pl.Series) -> tuple[Int64s, pl.DataFrame]:
    """The stack number of each wanted call chain, NULL where there is none; and the rows of ``stacks``."""
    frames = reading.database.frame("PYTORCH_CALLCHAINS", ["id", "stackDepth"], ids=["stack"])
    frames = frames.with_columns(text=as_texts(reading.strings.coded(frames["stack"])).fill_null(UNKNOWN))
    chains = (
        frames.drop_nulls("id")
        .sort("id", "stackDepth", descending=[False, True], maintain_order=True)
        .group_by("id", maintain_order=True)
        .agg(frames=pl.col("text").str.join("\n"))
    )
    stacks = chains.select(pl.col("frames").unique(maintain_order=True)).with_row_index("stack")
    chains = chains.join(stacks, on="frames", how="left", maintain_order="left")
    chain = first_match(numbers(chains["id"]), numbers(wanted))
    if not chains.height:
        return np.full(len(wanted), NULL, np.int64), stacks
    return np.where(chain == NONE, NULL, numbers(chains["stack"])[chain]), stacks


def inherited(slices: SliceTable, stated: Int64s, origin: Int64s) -> Int64s:
    """The stack of each slice: its own, that of the call around it, or of the call behind it."""
    if not (stated != NULL).any():
        return stated
    around = nearest(slices.parent, stated != NULL)
    value = np.where(around == NONE, NULL, stated[around])
    return np.where(origin == NONE, value, value[origin])
