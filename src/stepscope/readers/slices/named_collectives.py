"""Rows of ``collectives`` where nothing but its name tells what a call is."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.arrays import NULL
from stepscope.readers.slices.collective_names import collective_kind
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.trace_json.event_columns import nullable


def named_collectives(slices: SliceTable) -> pl.DataFrame:
    """The calls of slices whose steps are known, and their streams where they have any; groups and sizes are not."""
    calls = np.flatnonzero(slices.is_kind("collective"))
    words = slices.names.texts()
    names = [words[code] or "" for code in slices.name[calls].tolist()]
    nothing = np.full(len(slices), NULL, np.int64)
    return pl.DataFrame(
        {
            "slice": slices.id[calls],
            "kind": [collective_kind(name) for name in names],
            "name": names,
            "start_ns": slices.start[calls],
            "end_ns": slices.end[calls],
        },
        schema_overrides={"kind": pl.String, "name": pl.String},
    ).with_columns(
        step=nullable(slices.integers["step"][calls]), stream=nullable(slices.integers.get("stream", nothing)[calls])
    )
