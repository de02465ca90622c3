"""Memory tables: the curve of each allocator, the blocks that operators took, the driver's modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NULL
from stepscope.readers.ascend.csv_table import CsvTable, Rows
from stepscope.readers.ascend.device_tasks import module_component
from stepscope.readers.files.reading import Reading
from stepscope.readers.trace_json.event_columns import nullable
from stepscope.store.rank_writer import RankWriter

OnRead = Callable[[int], None] | None

# The driver answers with an unsigned -1 for modules that it cannot measure.
_LARGEST_BYTES: Final = 1 << 50
# Blocks of the graph engine; where PyTorch allocates, they are those without a stream.
_GE_PREFIX: Final = "cann::"
_PYTORCH_POOL: Final = "PTA"
_REPEATED: Final = (
    "Duration(us)",
    "Active Duration(us)",
    *(
        f"{moment} Total {what}({unit})"
        for moment in ("Allocation", "Release")
        for what in ("Allocated", "Reserved", "Active")
        for unit in ("MB", "KB")
    ),
)


def write_curves(paths: Sequence[Path], reading: Reading) -> None:
    """``memory_record.csv`` to ``memory``."""
    table = CsvTable(paths, reading)
    for rows in table.pieces():
        curve = pl.DataFrame(
            {
                "device": _device(rows),
                "component": rows.text("Component"),
                "time_ns": nullable(rows.time("Timestamp(us)")),
                "allocated": rows.size("Total Allocated"),
                "reserved": rows.size("Total Reserved"),
                "active": rows.size("Total Active"),
            }
        )
        _write_placed(curve, table, reading.out)


def write_modules(paths: Sequence[Path], reading: Reading) -> None:
    """``npu_module_mem.csv`` to ``memory``: one component per module of the driver."""
    table = CsvTable(paths, reading)
    for rows in table.pieces():
        reserved = rows.size("Total Reserved")
        unsupported = (reserved > _LARGEST_BYTES) | (reserved.is_null() & rows.text(_reserved(rows)).is_not_null())
        unsupported = unsupported.fill_null(False)
        reading.notes.add("ascend_module_unsupported", file=table.name, count=int(unsupported.sum()))
        names = rows.text("Component")
        distinct = {name: module_component(name) for name in names.drop_nulls().unique()}
        curve = pl.DataFrame(
            {
                "device": _device(rows),
                "component": names.replace_strict(distinct, default=None, return_dtype=pl.String),
                "time_ns": nullable(rows.time("Timestamp(us)")),
                "reserved": reserved,
            }
        )
        _write_placed(curve.filter(~unsupported), table, reading.out)


def write_blocks(paths: Sequence[Path], pool: str, reading: Reading) -> None:
    """``operator_memory.csv`` to ``allocations``. A negative size is a block from before the window, freed in it."""
    table = CsvTable(paths, reading)
    for rows in table.pieces():
        first = table.rows_read - len(rows)
        size = rows.size("Size")
        released = rows.time("Release Time(us)")
        reusable = rows.time("Active Release Time(us)")
        name = rows.text("Name", "Operator", "Operator Name")
        stream = rows.integer("Stream Ptr")
        graph = name.str.starts_with(_GE_PREFIX) | (stream.is_null() & pl.Series([pool == _PYTORCH_POOL] * len(rows)))
        allocated = rows.time("Allocation Time(us)")
        rows.skip(*_REPEATED)  # sums of what memory_record.csv has, and differences of the times
        blocks = pl.DataFrame(
            {
                "device": _device(rows),
                "pool": pl.select(pl.when(graph).then(pl.lit("GE")).otherwise(pl.lit(pool))).to_series(),
                "stream": stream,
                "bytes": size.abs(),
                "alloc_ns": nullable(allocated),
                "free_ns": nullable(np.where(released == NULL, reusable, released)),
                "alloc_seq": pl.int_range(first, first + len(rows), eager=True),
                "before_window": (size < 0) | pl.Series(allocated == NULL),
                "lost_free": pl.repeat(False, len(rows), eager=True),
                "operator": name,
            }
        )
        usable = pl.col("bytes").is_not_null() & (pl.col("alloc_ns").is_not_null() | pl.col("free_ns").is_not_null())
        good = blocks.filter(usable)
        reading.notes.add("ascend_block_incomplete", file=table.name, count=blocks.height - good.height)
        reading.out.add("allocations", good)


def _reserved(rows: Rows) -> str:
    return next((name for name in rows.frame.columns if name.startswith("Total Reserved")), "Total Reserved(MB)")


def _write_placed(curve: pl.DataFrame, table: CsvTable, out: RankWriter) -> None:
    values = [pl.col(name).is_not_null() for name in ("allocated", "reserved", "active") if name in curve.columns]
    placed = curve.filter(pl.col("time_ns").is_not_null() & pl.any_horizontal(values))
    table.reading.notes.add("ascend_sample_incomplete", file=table.name, count=curve.height - placed.height)
    out.add("memory", placed)


def _device(rows: Rows) -> pl.Series:
    return rows.text("Device Type", "Device", "Device_id").str.to_lowercase()
