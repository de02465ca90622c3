"""Links from flow events: arrows whose ends lie somewhere inside the slices that they join."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.readers.event_columns import NULL, EventColumns
from stepscope.readers.slice_table import SliceTable
from stepscope.store.nesting import NONE
from stepscope.store.notes import Notes


def flow_links(
    slices: SliceTable, columns: EventColumns, base_ns: int, kinds: dict[str, str], notes: Notes
) -> pl.DataFrame:
    """Rows of ``links``, one per end of a flow. ``kinds`` names the links of a flow's category; others are ``flow``.

    Ids are unique per category only. An end belongs to the only start of its id, or, where an id is used again, to
    the latest one before it.
    """
    _, track, category, _, time, ids, begins = columns.flows.take(3)
    placed = time != NULL
    holder = slices.nesting.containing(track, np.where(placed, time + base_ns, 0))
    bound = placed & (holder != NONE)
    notes.add("flow_unbound", file=columns.file, count=int((~bound).sum()))
    categories = columns.categories.texts()
    ends = pl.DataFrame(
        {
            "category": category[bound],
            "id": ids[bound],
            "time": time[bound],
            "end": begins[bound] == 0,
            "slice": slices.id[holder[bound]],
        }
    ).sort("category", "id", "time", "end", maintain_order=True)
    start = pl.when(~pl.col("end")).then(pl.col("slice"))
    key = ["category", "id"]
    joined = ends.with_columns(
        from_slice=pl.when(start.count().over(key) == 1)
        .then(start.max().over(key))
        .otherwise(start.forward_fill().over(key))
    ).filter("end")
    complete = joined.filter(pl.col("from_slice").is_not_null())
    notes.add("flow_without_start", file=columns.file, count=joined.height - complete.height)
    names = pl.Series([kinds.get(text or "", "flow") for text in categories], dtype=pl.String)
    return complete.select(
        pl.col("category").map_batches(names.gather, return_dtype=pl.String).alias("kind"),
        "from_slice",
        to_slice="slice",
    )
