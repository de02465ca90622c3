"""Blocks with their lives from MALLOC and FREE rows, and the memory in use over time."""

from __future__ import annotations

import polars as pl

from stepscope.store.notes import Notes

# The tool fills ``used`` of host memory with what the whole process occupies.
_HOST_POOLS = ("HOST", "HOST_PINNED")


def lives(blocks: pl.DataFrame, last_seen_ns: int, notes: Notes, file: str) -> pl.DataFrame:
    """One row per block. ``blocks`` are ordered within each process; ``last_seen_ns`` is the end of the window.

    A free that the tool made up after the last window (``shadow``) means: alive at the end. ``lost_ns`` and
    ``lost_seq`` say where the address of a block was given out again without a free.
    """
    at_exit = (pl.col("event") == "FREE") & pl.col("shadow").is_not_null() & (pl.col("time") > last_seen_ns)
    notes.add("msmemscope_freed_at_exit", file=file, count=int(blocks.select(at_exit.sum()).item()))
    events = blocks.filter(~at_exit).with_columns(born=pl.col("event") == "MALLOC")
    here = ["pid", "device", "type", "address"]
    paired = events.with_columns(
        next_born=pl.col("born").shift(-1).over(here),
        next_ns=pl.col("time").shift(-1).over(here),
        next_seq=pl.col("seq").shift(-1).over(here),
        last_born=pl.col("born").shift(1).over(here),
    )
    freed = pl.col("next_born").not_()
    older = pl.col("shadow").is_not_null()
    born = paired.filter("born").select(
        *_COMMON,
        "stack",
        "operator",
        _pool(),
        alloc_ns=pl.when(~older).then("time"),
        alloc_seq=pl.when(~older).then("seq"),
        free_ns=pl.when(freed).then("next_ns"),
        free_seq=pl.when(freed).then("next_seq"),
        before_window=older,
        lost_free=pl.col("next_born").fill_null(False),
        lost_ns=pl.when("next_born").then("next_ns"),
        lost_seq=pl.when("next_born").then("next_seq"),
        category=pl.coalesce(
            "owner", pl.when(pl.col("MID").is_not_null()).then("MID " + pl.col("MID").cast(pl.String))
        ),
    )
    alone = paired.filter(~pl.col("born") & pl.col("last_born").not_().fill_null(True))
    first = alone.filter(pl.col("last_born").is_null())
    notes.add("msmemscope_stray_free", file=file, count=alone.height - first.height)
    notes.add("msmemscope_older_blocks", file=file, count=int(born["before_window"].sum()) + first.height)
    notes.add("msmemscope_free_lost", file=file, count=int(born["lost_free"].sum()))
    unborn = first.select(
        *_COMMON, pool="type", free_ns="time", free_seq="seq", before_window=pl.lit(True), lost_free=pl.lit(False)
    )
    return pl.concat([born, unborn], how="diagonal").sort("alloc_seq", nulls_last=False, maintain_order=True)


# A driver block is what was asked for; pools report what they gave.
_COMMON = (
    "device",
    pl.col("address").cast(pl.UInt64),
    pl.col("size").alias("bytes"),
    pl.when(pl.col("type").is_in(["HAL", *_HOST_POOLS])).then("size").alias("requested_bytes"),
)


def _pool() -> pl.Expr:
    """The workspace is written as PTA too; only its owner tells it apart."""
    workspace = pl.col("owner").str.starts_with("PTA_WORKSPACE").fill_null(False)
    return pl.when(workspace).then(pl.lit("PTA_WORKSPACE")).otherwise("type").alias("pool")


def curves(blocks: pl.DataFrame, allocations: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``memory``: what the tool states after each event, else the sum of the blocks of a pool."""
    stated = blocks.filter(pl.col("used").is_not_null())
    host = pl.col("type").is_in(_HOST_POOLS)
    parts = [
        stated.select(
            "device",
            "seq",
            component=pl.when(host).then(pl.lit("process resident")).otherwise("type"),
            time_ns="time",
            allocated="used",
            reserved=pl.when(~host).then("total"),
        )
    ]
    for name, label in (("process_used", "process"), ("device_used", "device")):
        there = blocks.filter(pl.col(name) >= 0)
        parts.append(there.select("device", "seq", component=pl.lit(label), time_ns="time", allocated=name))
    parts.append(_sums(stated, allocations))
    return pl.concat(parts, how="diagonal").sort("device", "component", "seq", maintain_order=True).drop("seq")


def _sums(stated: pl.DataFrame, allocations: pl.DataFrame) -> pl.DataFrame:
    """For pools without a stated total: a running sum that starts with the blocks older than the window."""
    told = stated.filter(~pl.col("type").is_in(_HOST_POOLS))["type"].unique().implode()
    silent = allocations.filter(~pl.col("pool").is_in(told) & pl.col("bytes").is_not_null())
    pool = ["device", "pool"]
    start = silent.filter("before_window").group_by(pool).agg(start=pl.col("bytes").sum())
    rises = silent.filter(pl.col("alloc_seq").is_not_null()).select(
        *pool, seq="alloc_seq", time_ns="alloc_ns", change="bytes"
    )
    end = {"seq": pl.coalesce("free_seq", "lost_seq"), "time_ns": pl.coalesce("free_ns", "lost_ns")}
    falls = silent.select(*pool, **end, change=-pl.col("bytes")).filter(pl.col("seq").is_not_null())
    return (
        pl.concat([rises, falls])
        .sort("seq", maintain_order=True)
        .with_columns(allocated=pl.col("change").cum_sum().over(pool))
        .join(start, on=pool, how="left", nulls_equal=True, maintain_order="left")
        .select(
            "device",
            "seq",
            "time_ns",
            component="pool",
            allocated=pl.col("allocated") + pl.col("start").fill_null(0),
        )
    )
