"""Rows of a dump with their types made right: numbers, addresses, events by their present names."""

from __future__ import annotations

from collections import Counter
from typing import Final

import polars as pl

from stepscope.readers.files.exact_time import LARGEST_NS
from stepscope.readers.msmemscope import attributes
from stepscope.readers.msmemscope.stacks import StackNumbers
from stepscope.store.notes import Notes

_BLOCK_EVENTS: Final = ("MALLOC", "FREE")
_KNOWN_EVENTS: Final = frozenset(
    ("MALLOC", "FREE", "ACCESS", "OP_LAUNCH", "KERNEL_LAUNCH", "MSTX", "SYSTEM", "SNAPSHOT", "OOM_DETAIL", "CLEAN_UP")
)
_TEXTS: Final = ("event", "type", "name", "pid", "tid", "device", "ptr", "attr", "python_stack", "c_stack", "id")
# Nanoseconds since 1970 have 19 digits today, microseconds 16.
_MICROSECONDS: Final = (10**14, 10**17)
_MOST_NAMED: Final = 100
_BLOCK_NUMBERS: Final = ("size", "total", "used", "process_used", "device_used", "MID")
_BLOCK_TEXTS: Final = ("owner", "inefficient_type", "page_type", "alloc_type", "shadow")


class DumpEvents:
    """Grows by batches of one or more files: ``blocks`` are MALLOC and FREE rows, ``others`` the rest."""

    def __init__(self) -> None:
        self.stacks = StackNumbers()
        self.rows = 0
        self._blocks: list[pl.DataFrame] = []
        self._others: list[pl.DataFrame] = []
        # So that there are columns even if there are no rows.
        self.add(pl.DataFrame(schema=dict.fromkeys((*_TEXTS, "time"), pl.String)), Notes(), "")

    def add(self, batch: pl.DataFrame, notes: Notes, file: str) -> None:
        """Take a batch in."""
        batch = batch.with_columns(
            pl.lit("").alias(name) for name in _TEXTS if name not in batch.columns
        ).with_row_index("row", offset=self.rows)
        self.rows += batch.height
        events = _typed(batch, notes, file)
        good = events.filter(pl.col("time").is_not_null() & pl.col("event").is_in(_KNOWN_EVENTS))
        _remark(events, notes, file)
        good = good.with_columns(self.stacks.numbers(good["python_stack"], good["c_stack"])).drop(
            "python_stack", "c_stack"
        )
        is_block = pl.col("event").is_in(_BLOCK_EVENTS)
        blocks = attributes.columns(good.filter(is_block), _BLOCK_NUMBERS, _BLOCK_TEXTS)
        self._blocks.append(blocks.drop("attr", "name"))
        self._others.append(good.filter(~is_block))

    def in_order(self, notes: Notes, file: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Rows of MALLOC and FREE, and all others, process by process in the order in which they happened.

        A file has the rows of a block together, at the place of its free. ``seq`` is the number that the tool gave,
        or, where several processes count for themselves, one made from time.
        """
        blocks, others = pl.concat(self._blocks), pl.concat(self._others)
        # Files of one process repeat what belongs to no device.
        blocks = blocks.unique(["pid", "id", "event", "type", "address", "time"], keep="first", maintain_order=True)
        others = others.unique(["pid", "id", "event", "type", "name", "time", "tid"], keep="first", maintain_order=True)
        whole = blocks.filter(pl.col("address").is_not_null())
        notes.add("memory_event_incomplete", file=file, count=blocks.height - whole.height)
        both = pl.concat([whole.select("row", "pid", "id", "time"), others.select("row", "pid", "id", "time")])
        seq = both.select("row", seq="id")
        if both.filter(pl.col("pid") >= 0)["pid"].n_unique() > 1:
            ordered = both.sort("time", "id", "row").select("row")
            seq = ordered.with_columns(seq=pl.int_range(ordered.height, dtype=pl.Int64))
        joined = [frame.join(seq, on="row", how="left", maintain_order="left") for frame in (whole, others)]
        return joined[0].sort("pid", "id", "row"), joined[1].sort("pid", "id", "row")


def _typed(batch: pl.DataFrame, notes: Notes, file: str) -> pl.DataFrame:
    # The quotes around names are the tool's, once or several times.
    batch = batch.with_columns(
        pl.col(name).fill_null("").str.strip_chars(' \t\r"') for name in _TEXTS if name != "attr"
    )
    digits = pl.col("ptr").str.to_lowercase()
    is_hex = digits.str.starts_with("0x")
    word = {name: pl.col(name).str.to_uppercase().str.replace_all(" ", "_", literal=True) for name in ("event", "type")}
    address = (
        pl.when(is_hex)
        .then(digits.str.strip_prefix("0x").str.to_integer(base=16, strict=False))
        .otherwise(digits.cast(pl.Int64, strict=False))
    )
    typed = batch.select(
        "row",
        pl.col("id").cast(pl.Int64, strict=False).fill_null(pl.col("row").cast(pl.Int64)),
        word["event"].alias("event"),
        word["type"].alias("type"),
        "name",
        _time(batch),
        pl.col("pid").cast(pl.Int64, strict=False).fill_null(-1),
        pl.col("tid").cast(pl.Int64, strict=False).fill_null(-1),
        _device().alias("device"),
        pl.when(address >= 0).then(address).alias("address"),
        pl.col("attr").fill_null(""),
        "python_stack",
        "c_stack",
    )
    middle = typed["time"].median()
    if "time" in batch.columns and isinstance(middle, float) and _MICROSECONDS[0] <= middle < _MICROSECONDS[1]:
        notes.add("msmemscope_microseconds", file=file)
        typed = typed.with_columns(pl.col("time") * 1000)
    return typed.with_columns(pl.when(pl.col("time").is_between(0, LARGEST_NS)).then("time"))


def _time(batch: pl.DataFrame) -> pl.Expr:
    name = "time" if "time" in batch.columns else "time_us"
    if name not in batch.columns:
        return pl.lit(None, pl.Int64).alias("time")
    whole = pl.col(name).fill_null("").str.strip_chars().cast(pl.Int64, strict=False)
    most = LARGEST_NS if name == "time" else LARGEST_NS // 1000
    inside = pl.when(whole.is_between(0, most)).then(whole)
    return (inside if name == "time" else inside * 1000).alias("time")


def _device() -> pl.Expr:
    """``npu:0``, ``cpu``, or null where the row belongs to none."""
    device = pl.col("device").str.to_lowercase()
    return (
        pl.when(device.is_in(["cpu", "host"]))
        .then(pl.lit("cpu"))
        .when(device.str.contains(r"^\d{1,4}$"))
        .then(pl.lit("npu:") + device)
        .when(device.str.contains(r"^npu:\d{1,4}$"))
        .then(device)
    )


def _remark(events: pl.DataFrame, notes: Notes, file: str) -> None:
    notes.add("event_without_time", file=file, count=events["time"].null_count())
    unknown = sorted(Counter(events.filter(~pl.col("event").is_in(_KNOWN_EVENTS))["event"].to_list()).items())
    for event, count in unknown[:_MOST_NAMED]:
        notes.add("msmemscope_event_unknown", file=file, count=count, event=event[:80])
    rest = sum(count for _, count in unknown[_MOST_NAMED:])
    notes.add("msmemscope_event_unknown", file=file, count=rest, event="…")
