"""``memory_record.csv`` and ``operator_memory.csv``: curves per component, and blocks with their life."""

from __future__ import annotations

import polars as pl

from stepscope.deliver.capture_directory.cells import micro
from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.layout import columns

_MB = 2**20
_KB = 2**10
#: Modules of the driver have a file of their own; what we look at beside the allocators is no memory of theirs.
_IS_ALLOCATOR = ~(
    pl.col("component").cast(pl.String).fill_null("").str.starts_with("module ")
    | pl.col("component").cast(pl.String).is_in(["process", "workers", "machine"]).fill_null(False)
)
#: The documents' words for allocators.
_COMPONENTS = {"caching allocator": "PTA"}
_TOTALS = ("allocated", "reserved", "active")


def curve_rows(data: RankData) -> pl.DataFrame:
    """The curves of the allocators in time order. One without a pool reserves what it has allocated."""
    rows = data.store.scan("memory", [data.rank]).filter(_IS_ALLOCATOR).sort("time_ns", maintain_order=True).collect()
    return rows.with_columns(
        device=pl.col("device").cast(pl.String),
        component=pl.col("component").cast(pl.String).replace(_COMPONENTS).fill_null("APP"),
        reserved=pl.coalesce("reserved", "allocated"),
    )


def memory_record(data: RankData) -> pl.DataFrame | None:
    """The curve of every allocator, in time order."""
    rows = curve_rows(data)
    if rows.is_empty():
        return None
    return rows.select(
        **{
            "Component": pl.col("component"),
            "Timestamp(us)": micro(pl.col("time_ns")),
            "Total Allocated(MB)": pl.col("allocated") / _MB,
            "Total Reserved(MB)": pl.col("reserved") / _MB,
            "Total Active(MB)": pl.col("active") / _MB,
            "Device Type": _device(),
        }
    ).select(columns.MEMORY_RECORD)


def blocks_with_totals(data: RankData) -> pl.DataFrame:
    """Every block, with the totals of its device at its allocation and its release."""
    blocks = data.store.scan("allocations", [data.rank])
    rows = blocks.sort("alloc_ns", "alloc_seq", nulls_last=True, maintain_order=True).collect()
    curve = curve_rows(data).select("device", "time_ns", *_TOTALS)
    for moment in ("alloc", "free"):
        rows = _with_totals(rows, curve, moment)
    return rows


def operator_memory(data: RankData) -> pl.DataFrame | None:
    """Every block; one allocated before the window has no allocation, one alive at its end no release."""
    rows = blocks_with_totals(data)
    if rows.is_empty():
        return None
    return rows.select(
        **{
            "Name": pl.col("operator").cast(pl.String).fill_null(""),
            # A block from before the window is written as its release: negative, without allocation.
            "Size(KB)": pl.when(pl.col("alloc_ns").is_null()).then(-pl.col("bytes")).otherwise(pl.col("bytes")) / _KB,
            "Allocation Time(us)": micro(pl.col("alloc_ns")).fill_null(""),
            "Release Time(us)": micro(pl.col("free_ns")).fill_null(""),
            "Active Release Time(us)": pl.lit("N/A"),
            "Duration(us)": micro(pl.col("free_ns") - pl.col("alloc_ns")).fill_null(""),
            "Active Duration(us)": pl.lit("N/A"),
            "Allocation Total Allocated(MB)": pl.col("alloc_allocated") / _MB,
            "Allocation Total Reserved(MB)": pl.col("alloc_reserved") / _MB,
            "Allocation Total Active(MB)": pl.col("alloc_active") / _MB,
            "Release Total Allocated(MB)": pl.col("free_allocated") / _MB,
            "Release Total Reserved(MB)": pl.col("free_reserved") / _MB,
            "Release Total Active(MB)": pl.col("free_active") / _MB,
            "Stream Ptr": pl.col("stream").cast(pl.String).fill_null(""),
            "Device Type": _device(),
        }
    ).select(columns.OPERATOR_MEMORY)


def _device() -> pl.Expr:
    """cuda:0 as GPU:0, npu:1 as NPU:1, cpu as CPU."""
    return pl.col("device").cast(pl.String).str.to_uppercase().str.replace("CUDA", "GPU", literal=True)


def _with_totals(rows: pl.DataFrame, curve: pl.DataFrame, moment: str) -> pl.DataFrame:
    """The totals of the device at an allocation or a release."""
    totals = curve.rename({name: f"{moment}_{name}" for name in _TOTALS} | {"time_ns": f"{moment}_ns"})
    there = rows.with_columns(pl.col("device").cast(pl.String)).with_row_index("_row")
    joined = there.filter(pl.col(f"{moment}_ns").is_not_null()).sort(f"{moment}_ns", maintain_order=True)
    with_totals = joined.join_asof(totals, on=f"{moment}_ns", by="device", check_sortedness=False)
    kept = with_totals.select("_row", *(f"{moment}_{name}" for name in _TOTALS))
    return there.join(kept, on="_row", how="left", maintain_order="left").drop("_row")
