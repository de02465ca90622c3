"""Rows of ``details``: the columns of a row that no other table takes, as JSON, by their names in the database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import polars as pl

from stepscope.readers.ascend_db.strings import Coded, as_texts
from stepscope.readers.ascend_db.timeline import Int64s
from stepscope.store.nesting import NONE
from stepscope.store.rank_writer import RankWriter

_ROWS_AT_ONCE: Final = 1 << 18


def write_details(
    out: RankWriter, slice_ids: Int64s, position: Int64s, numbers: pl.DataFrame, texts: Mapping[str, Coded]
) -> None:
    """One object per row that has a slice (``position``, an index into ``slice_ids``); nulls are left out."""
    words = {name: (codes, [json.dumps(word) for word in known]) for name, (codes, known) in texts.items()}
    columns = numbers.with_columns(as_texts(coded).alias(name) for name, coded in words.items())
    columns = columns.with_columns(place=pl.Series(position))
    for first in range(0, columns.height, _ROWS_AT_ONCE):
        piece = columns.slice(first, _ROWS_AT_ONCE).filter(pl.col("place") != NONE)
        pairs = [pl.format(f'"{name}":{{}}', name) for name in piece.columns if name != "place"]
        objects = piece.select(
            "place",
            json=pl.concat_str(
                pl.lit("{"), pl.concat_str(pairs, separator=",", ignore_nulls=True), pl.lit("}")
            ),
        ).filter(pl.col("json") != "{}")
        out.add("details", pl.DataFrame({"slice": slice_ids[objects["place"].to_numpy()], "json": objects["json"]}))
