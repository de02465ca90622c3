"""CPU operators as slices: when each ran, of which type, in which scope, on which shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from stepscope.readers.files.numbers import MS
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import read_csv
from stepscope.readers.mindspore_cpu.collectives import is_communication
from stepscope.readers.mindspore_cpu.kernel_times import read_kernel_times
from stepscope.readers.mindspore_cpu.scopes import module, phase
from stepscope.readers.mindspore_cpu.shapes import read_shapes, with_shapes
from stepscope.readers.slices.slice_parts import SliceParts

CORE: Final = "HOST_CPU"
_TEXT_COLUMNS: Final = ("op_side", "op_type", "op_name", "subgraph", "pid")


def read_operators(
    times: Path,
    types: dict[str, str],
    shapes: Path | None,
    parts: SliceParts,
    reading: Reading,
    shift_ns: int = 0,
) -> None:
    """Slices of all executions; ``types`` are those of operators by full name, ``shift_ns`` is added to times."""
    runs = read_kernel_times(times, MS, reading)
    if shapes is not None:
        runs = with_shapes(runs, read_shapes(shapes, reading), reading.notes, shapes.name)
    if runs.is_empty():
        return
    threads = runs["thread"].cast(pl.String).fill_null("").unique(maintain_order=True)
    tracks = {
        thread: parts.tracks.track("host", f"Thread {thread or 0}", "CPU operators", thread or "0")
        for thread in threads
    }
    parts.add(
        described(runs, types).with_columns(
            pl.col("start_ns") + shift_ns,
            track=pl.col("thread").cast(pl.String).fill_null("").replace_strict(tracks, return_dtype=pl.Int32),
            kind=pl.when(is_communication(pl.col("type"))).then(pl.lit("collective")).otherwise(pl.lit("operator")),
            core=pl.lit(CORE),
        ),
        times.name,
    )


def described(runs: pl.DataFrame, types: dict[str, str]) -> pl.DataFrame:
    """Executions with type, scope and phase, each worked out once per operator."""
    names = runs.select(pl.col("name").unique()).with_columns(text=pl.col("name").cast(pl.String))
    known = names.with_columns(
        known_type=pl.col("text").replace_strict(types, default=None, return_dtype=pl.String),
        module=module("text"),
        phase=phase("text"),
    ).drop("text")
    joined = runs.join(known, on="name", how="left", maintain_order="left")
    said = pl.col("said_type") if "said_type" in runs.columns else pl.lit(None, pl.String)
    return joined.with_columns(type=pl.coalesce("known_type", said)).drop("known_type", "said_type", strict=False)


def read_details(path: Path, reported: Reported, reading: Reading) -> dict[str, str]:
    """``cpu_op_detail_info`` into ``reported``; returns the type of each operator by its full name."""
    table = read_csv(path, reading)
    if table is None:
        return {}
    reported.add_table(path.name, table, ("full_op_name", "op_full_name"), reading.notes, _TEXT_COLUMNS)
    names, types = table.cells("full_op_name", "op_full_name"), table.cells("op_type")
    if names is None or types is None:
        reading.notes.add("mindspore_columns_missing", file=path.name, columns="full_op_name, op_type")
        return {}
    return dict(zip(names, types, strict=True))
