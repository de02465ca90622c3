"""Operators that communicate: on a CPU, MindSpore records AllReduce and its like among all other operators.

Their data type is not recorded, nor is their group, so sizes are unknown, and the group is for a caller to complete.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.facts.communication import communication_facts
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.trace_json.event_columns import nullable


def is_communication(kind_of_operator: pl.Expr) -> pl.Expr:
    """Whether an operator's type is one that communicates.

    >>> types = pl.DataFrame({"type": ["AllReduce", "ReduceSum", None]})
    >>> types.select(is_communication(pl.col("type"))).to_series().to_list()
    [True, False, False]
    """
    return kind_of_operator.is_in(list(communication_facts().mindspore_operators)).fill_null(False)


def collectives(slices: SliceTable) -> pl.DataFrame:
    """Rows of ``collectives``."""
    positions = np.flatnonzero(slices.is_kind("collective"))
    if not len(positions):
        return pl.DataFrame()
    names, (codes, types) = slices.names.texts(), slices.texts["type"]
    kinds = communication_facts().mindspore_operators
    return pl.DataFrame(
        {
            "slice": slices.id[positions],
            "kind": [kinds.get(types[code] or "", "other") for code in codes[positions]],
            "name": [names[code] for code in slices.name[positions]],
            "start_ns": slices.start[positions],
            "end_ns": slices.end[positions],
            "step": nullable(slices.integers["step"][positions]),
        }
    )
