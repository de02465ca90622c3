"""Input shapes of CPU operators: ``cpu_framework``, and the GPU's twin ``gpu_framework``.

Lines are ``type;name;graph;input_1:[2, 3];input_2:NoShape;…``. MindSpore 2.10 writes one line per execution, in order
of time; in PyNative mode most of them are empty (``;;graph;``), because the operator carries no primitive.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from stepscope.readers.files.reading import Reading
from stepscope.readers.files.text_files import matched
from stepscope.store.notes import Notes

_LINE: Final = r"^(?<type>[^;]*);(?<name>[^;]*);(?<graph>[^;]*);(?<inputs>.*)$"


def read_shapes(path: Path, reading: Reading) -> pl.DataFrame:
    """Columns type, name and input_shapes (null where the line is empty), one row per line."""
    lines = matched(path, _LINE, reading)
    if lines.is_empty():
        return pl.DataFrame(schema={"type": pl.String, "name": pl.String, "input_shapes": pl.String})
    inputs = pl.col("inputs").str.strip_chars_end(";").str.replace_all(r"input_\d+:", "").str.replace_all(";", ", ")
    named = pl.col("name") != ""
    return lines.select(
        type=pl.when(named).then("type"),
        name=pl.when(named).then("name"),
        input_shapes=pl.when(named & (pl.col("inputs") != "")).then(pl.lit("[") + inputs + pl.lit("]")),
    )


def with_shapes(runs: pl.DataFrame, shapes: pl.DataFrame, notes: Notes, file: str) -> pl.DataFrame:
    """Executions with their type and input shapes.

    Where there is a line for each execution and all names agree, lines are taken in order of time. Otherwise an
    operator gets the shapes of its name, unless its lines differ.
    """
    empty = int(shapes["name"].is_null().sum())
    notes.add("shapes_not_recorded", file=file, count=empty)
    short = pl.col("name").cast(pl.String).str.extract(r"([^/]*)$").alias("short")
    if runs.height == shapes.height:
        ordered = runs.with_row_index("line").sort("start_ns", maintain_order=True).with_columns(short)
        beside = ordered.with_columns(shapes.rename({"name": "said", "type": "said_type"}))
        if bool(beside.select((pl.col("said") == pl.col("short")).fill_null(True).all()).item()):
            return beside.sort("line").drop("line", "short", "said")
    known = (
        shapes.drop_nulls("name")
        .group_by("name")
        .agg(pl.col("input_shapes").unique(), pl.col("type").first())
        .select(
            short="name",
            said_type="type",
            input_shapes=pl.when(pl.col("input_shapes").list.len() == 1).then(pl.col("input_shapes").list.first()),
        )
    )
    joined = runs.with_columns(short).join(known, on="short", how="left", maintain_order="left")
    unclear = known.filter(pl.col("input_shapes").is_null()).height
    notes.add("shapes_ambiguous", file=file, count=unclear)
    unused = known.join(runs.with_columns(short), on="short", how="anti").height
    notes.add("shapes_unused", file=file, count=unused)
    return joined.drop("short")
