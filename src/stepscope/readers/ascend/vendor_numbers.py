"""Numbers that the vendor computed about steps, calls and links, under the names of its text files.

Frames have the vendor's columns; where there is a column ``rank``, it is carried along.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.readers.files.exact_time import nanoseconds
from stepscope.readers.trace_json.event_columns import nullable

STEP_COLUMNS: Final = {
    "computing": "Computing",
    "communication_not_overlapped": "Communication(Not Overlapped)",
    "overlapped": "Overlapped",
    "communication": "Communication",
    "free": "Free",
    "stage": "Stage",
    "bubble": "Bubble",
    "communication_not_overlapped_and_exclude_receive": "Communication(Not Overlapped and Exclude Receive)",
    "preparing": "Preparing",
}
TIME_COLUMNS: Final = {
    "elapse_time": "Elapse Time(ms)",
    "transit_time": "Transit Time(ms)",
    "wait_time": "Wait Time(ms)",
    "synchronization_time": "Synchronization Time(ms)",
    "idle_time": "Idle Time(ms)",
}
BAND_COLUMNS: Final = {
    "transit_size": "Transit Size(MB)",
    "transit_time": "Transit Time(ms)",
    "bandwidth": "Bandwidth(GB/s)",
    "large_packet_ratio": "Large Packet Ratio",
}
PACKET_COLUMNS: Final = {"count": "packets", "total_duration": "packets time(ms)"}
LINK_COLUMNS: Final = {name: BAND_COLUMNS[name] for name in ("transit_size", "transit_time", "bandwidth")}
#: Holds microseconds as text.
START: Final = "start_timestamp"
#: Columns that name a row of every table about communication.
NAMES: Final = ("hccl_op_name", "group_name", "step")

_TIMES: Final = {
    "elapse_ns": "elapse_time",
    "transit_ns": "transit_time",
    "wait_ns": "wait_time",
    "sync_ns": "synchronization_time",
    "idle_ns": "idle_time",
}
_NS_PER_MS: Final = 1_000_000
_BYTES_PER_MB: Final = 1_000_000  # of sizes in communication
_LARGEST: Final = 1e12


def key() -> pl.Expr:
    """The name of a call as the vendor writes it, with its group."""
    return pl.concat_str("hccl_op_name", "group_name", separator="@", ignore_nulls=True)


def step_number() -> pl.Expr:
    """The number of a step, which some tables write with a word before it."""
    number = pl.col("step").str.strip_prefix("step")
    return pl.when(number.str.contains(r"^\d{1,18}$")).then(number).cast(pl.Int64, strict=False)


def cells(rows: pl.DataFrame, row_key: pl.Expr, prefix: pl.Expr, columns: dict[str, str]) -> pl.DataFrame:
    """One row of ``reported`` per number; the metric is the prefix and the column's name in the text files."""
    index = {"step": step_number(), "key": row_key, "prefix": prefix}
    kept = ["rank"] if "rank" in rows.columns else []
    named = rows.select(*kept, *columns, **index)
    long = named.unpivot(list(columns), index=[*kept, *index], variable_name="metric", value_name="value")
    metric = pl.concat_str("prefix", pl.col("metric").replace(columns))
    return long.filter(pl.col("value").is_finite()).select(*kept, "step", "key", metric.alias("metric"), "value")


def time_cells(times: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``reported`` from the times of calls."""
    return cells(times, key(), pl.lit(""), TIME_COLUMNS)


def band_cells(bands: pl.DataFrame) -> list[pl.DataFrame]:
    """Rows of ``reported`` from bandwidths. What holds for a transport is repeated for each size of packet there."""
    names = [name for name in ("rank", *NAMES, "transport_type") if name in bands.columns]
    headers = bands.unique([*BAND_COLUMNS, *names], maintain_order=True)
    size = pl.format("{} {} MB ", "transport_type", "package_size")
    return [
        cells(headers, key(), pl.format("{} ", "transport_type"), BAND_COLUMNS),
        cells(bands.filter(pl.col("count") > 0), key(), size, PACKET_COLUMNS),
    ]


def link_cells(links: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``reported`` from the matrix of links."""
    return cells(links, key(), pl.format("{}-{} ", "src_rank", "dst_rank"), LINK_COLUMNS)


def call_times(times: pl.DataFrame) -> pl.DataFrame:
    """Name, group, step, start and the vendor's times of each call, in nanoseconds."""
    # The digits as they stand there: a product of floats would be off by hundreds of nanoseconds.
    starts = nanoseconds([text.encode() for text in times[START].fill_null("").to_list()])
    spans = {
        name: pl.when(pl.col(column).abs() < _LARGEST).then((pl.col(column) * _NS_PER_MS).round()).cast(pl.Int64)
        for name, column in _TIMES.items()
    }
    return times.select(
        *(["rank"] if "rank" in times.columns else []),
        name="hccl_op_name",
        group="group_name",
        step=step_number(),
        start_ns=nullable(starts),
        **spans,
    ).drop_nulls("name")


def link_totals(links: pl.DataFrame) -> pl.DataFrame:
    """What moved between two ranks: where calls of one kind are summed up, the sums, else every call."""
    links = links.drop_nulls("hccl_op_name")
    totals = links.filter(pl.col("hccl_op_name").str.ends_with("-total"))
    good = pl.col("transit_size").is_between(0, _LARGEST) & pl.col("transit_time").is_between(0, _LARGEST)
    return (
        (totals if totals.height else links)
        .filter(good)
        .select(
            step_number().alias("step"),
            call="hccl_op_name",
            group="group_name",
            source="src_rank",
            peer="dst_rank",
            transport="transport_type",
            bytes=(pl.col("transit_size") * _BYTES_PER_MB).round().cast(pl.Int64),
            time_ns=(pl.col("transit_time") * _NS_PER_MS).round().cast(pl.Int64),
        )
    )
