"""What the vendor computed about communication and steps: ``analysis.db`` or ``communication_analyzer.db``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from stepscope.readers.ascend import vendor_numbers as vendor
from stepscope.readers.sqlite.database import Database

TABLES: Final = ("StepTraceTime", "CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix")

_REPORTED: Final = ("file", "step", "key", "metric", "value")


@dataclass
class Summary:
    """``calls``: name, group, step, start_ns and the vendor's times; ``links``: totals between two ranks."""

    calls: pl.DataFrame
    links: pl.DataFrame
    reported: pl.DataFrame
    file: str = ""
    is_damaged: bool = False


def read_summary(database: Database) -> Summary:
    """All tables of one file."""
    times = _named(database, "CommAnalyzerTime", [], list(vendor.TIME_COLUMNS), [vendor.START])
    numbers = [*vendor.BAND_COLUMNS, "package_size", *vendor.PACKET_COLUMNS]
    bands = _named(database, "CommAnalyzerBandwidth", [], numbers, ["transport_type"])
    ends = ["src_rank", "dst_rank"]
    links = _named(database, "CommAnalyzerMatrix", ends, list(vendor.LINK_COLUMNS), ["transport_type"])
    steps = database.frame("StepTraceTime", reals=list(vendor.STEP_COLUMNS), texts=["step"])
    reported = pl.concat(
        [
            vendor.cells(steps, pl.lit(None, pl.String), pl.lit(""), vendor.STEP_COLUMNS),
            vendor.time_cells(times),
            *vendor.band_cells(bands),
            vendor.link_cells(links),
        ]
    )
    return Summary(
        vendor.call_times(times),
        vendor.link_totals(links),
        reported.with_columns(file=pl.lit(database.file)).select(_REPORTED),
        database.file,
        database.is_damaged,
    )


def _named(database: Database, table: str, integers: list[str], reals: list[str], texts: list[str]) -> pl.DataFrame:
    """The rows of a table about calls; those that name no call are noted."""
    rows = database.frame(table, integers, reals, [*vendor.NAMES, *texts])
    named = rows.drop_nulls("hccl_op_name")
    database.notes.add("db_rows_empty", file=database.file, table=table, count=rows.height - named.height)
    return named


def empty_summary() -> Summary:
    """What there is without any such file."""
    names = dict.fromkeys((*vendor.NAMES, vendor.START), pl.String)
    times = dict.fromkeys((*vendor.TIME_COLUMNS, *vendor.LINK_COLUMNS), pl.Float64)
    ends = {"src_rank": pl.Int64, "dst_rank": pl.Int64, "transport_type": pl.String}
    nothing = pl.DataFrame(schema={**names, **times, **ends})
    return Summary(vendor.call_times(nothing), vendor.link_totals(nothing), pl.DataFrame())
