"""Memory tables: the curve of each allocator and driver module, and the blocks that operators took."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.readers.ascend.device_tasks import module_component
from stepscope.readers.ascend_db.database_reading import DatabaseReading
from stepscope.readers.ascend_db.strings import as_texts
from stepscope.readers.files.exact_time import LARGEST_NS
from stepscope.readers.slices.block_lives import lives

# The driver answers with an unsigned -1 for modules that it cannot measure.
_LARGEST_BYTES: Final = 1 << 50
_GE: Final = "GE"
_APP: Final = "app"
_POOLS: Final = {"pytorch": "PTA", "mindspore": "MindSpore"}


def write_memory(reading: DatabaseReading, framework: str | None) -> None:
    """All memory tables to ``memory`` and ``allocations``."""
    operations = _operations(reading)
    blocks = _blocks(reading, _POOLS.get(framework or "", "device"))
    curves = [_curves(reading), _process_memory(reading), _modules(reading)]
    lists = [blocks]
    if blocks.filter(pl.col("pool") == _GE).height:
        # Both tables list the graph engine's blocks; only the second one knows their addresses.
        lists = [_with_addresses(blocks, operations)]
        count = operations.height
        reading.note("db_rows_repeat_table", table="NPU_OP_MEM", other="OP_MEMORY", count=count)
    elif operations.height:
        lists.append(lives(operations).with_columns(pool=pl.lit(_GE)))
        if not curves[0].height:
            curves.append(operations.select("device", "component", "time_ns", "allocated", "reserved"))
    reading.out.add("allocations", pl.concat(lists, how="diagonal"))
    reading.out.add("memory", pl.concat(curves, how="diagonal"))


def _device() -> pl.Expr:
    """``npu:0`` from a device number."""
    return pl.format("npu:{}", "deviceId")


def _placed(rows: pl.DataFrame, table: str, time: str, values: list[str], reading: DatabaseReading) -> pl.DataFrame:
    """Rows that have a time and a value; the others are noted."""
    good = rows.filter(pl.col(time).is_between(0, LARGEST_NS) & pl.any_horizontal(pl.col(values).is_not_null()))
    reading.note("db_rows_empty", table=table, count=rows.height - good.height)
    return good


def _curves(reading: DatabaseReading) -> pl.DataFrame:
    sums = ["totalAllocated", "totalReserved", "totalActive"]
    rows = reading.database.frame("MEMORY_RECORD", ["timestamp", *sums, "deviceId"], ids=["component"])
    rows = rows.with_columns(component=as_texts(reading.strings.coded(rows["component"])))
    return _placed(rows, "MEMORY_RECORD", "timestamp", sums, reading).select(
        "component",
        device=_device(),
        time_ns="timestamp",
        allocated="totalAllocated",
        reserved="totalReserved",
        active="totalActive",
    )


def _process_memory(reading: DatabaseReading) -> pl.DataFrame:
    """The process's own memory, which the text form lists among the allocators; here it is a table of its own."""
    rows = reading.database.frame("NPU_MEM", ["ddr", "hbm", "timestampNs", "deviceId"], ids=["type"])
    rows = rows.filter(as_texts(reading.strings.coded(rows["type"])).str.to_lowercase().eq_missing(pl.Series([_APP])))
    return rows.filter(pl.col("timestampNs").is_between(0, LARGEST_NS)).select(
        device=_device(),
        component=pl.lit(_APP.upper()),
        time_ns="timestampNs",
        reserved=pl.col("ddr").fill_null(0) + pl.col("hbm").fill_null(0),
    )


def _modules(reading: DatabaseReading) -> pl.DataFrame:
    rows = reading.database.frame("NPU_MODULE_MEM", ["moduleId", "timestampNs", "totalReserved", "deviceId"])
    codes, words = reading.strings.enum("ENUM_MODULE", rows["moduleId"])
    named = as_texts((codes, [module_component(word) if word else None for word in words]))
    rows = rows.with_columns(component=pl.coalesce(named, pl.format(module_component("{}"), "moduleId")))
    supported = pl.col("totalReserved").is_between(0, _LARGEST_BYTES).fill_null(False)
    reading.note("db_module_unsupported", count=rows.filter(~supported).height)
    rows = _placed(rows.filter(supported), "NPU_MODULE_MEM", "timestampNs", ["totalReserved"], reading)
    return rows.select("component", device=_device(), time_ns="timestampNs", reserved="totalReserved")


def _blocks(reading: DatabaseReading, pool: str) -> pl.DataFrame:
    """Rows of ``allocations`` from ``OP_MEMORY``. Blocks of the graph engine have no stream."""
    times = ["allocationTime", "releaseTime", "activeReleaseTime"]
    rows = reading.database.frame("OP_MEMORY", ["size", *times, "streamPtr", "deviceId"], ids=["name"])
    rows = rows.with_columns(operator=as_texts(reading.strings.coded(rows["name"]))).with_row_index("number")
    rows = rows.with_columns(pl.when(pl.col(times).is_between(1, LARGEST_NS)).then(pl.col(times)))
    good = rows.filter(pl.col("size").is_not_null() & pl.any_horizontal(pl.col(times).is_not_null()))
    reading.note("db_rows_empty", table="OP_MEMORY", count=rows.height - good.height)
    return good.select(
        "operator",
        device=_device(),
        pool=pl.when(pl.col("streamPtr").is_null()).then(pl.lit(_GE)).otherwise(pl.lit(pool)),
        stream="streamPtr",
        bytes=pl.col("size").abs(),
        alloc_ns="allocationTime",
        free_ns=pl.coalesce("releaseTime", "activeReleaseTime"),
        alloc_seq=pl.col("number").cast(pl.Int64),
        before_window=(pl.col("size") < 0) | pl.col("allocationTime").is_null(),
        lost_free=pl.lit(False),
    )


def _operations(reading: DatabaseReading) -> pl.DataFrame:
    """``NPU_OP_MEM``: what the graph engine took and gave back, moment by moment."""
    strings = reading.strings
    rows = reading.database.frame(
        "NPU_OP_MEM",
        ["addr", "size", "timestampNs", "totalAllocate", "totalReserve", "deviceId"],
        ids=["operatorName", "type", "component"],
    )
    rows = rows.with_columns(
        operator=as_texts(strings.coded(rows["operatorName"])),
        frees=as_texts(strings.coded(rows["type"])).str.to_lowercase().is_in(["release", "free"]).fill_null(False),
        component=as_texts(strings.coded(rows["component"])).fill_null(_GE),
    ).with_row_index("seq")
    rows = _placed(rows, "NPU_OP_MEM", "timestampNs", ["size"], reading)
    return rows.select(
        "operator",
        "component",
        pl.col("seq").cast(pl.Int64),
        device=_device(),
        address=pl.col("addr").cast(pl.UInt64, strict=False).fill_null(0),
        size=pl.when("frees").then(-pl.col("size").abs()).otherwise(pl.col("size").abs()),
        time_ns="timestampNs",
        allocated="totalAllocate",
        reserved="totalReserve",
    ).sort("time_ns", "seq")


def _with_addresses(blocks: pl.DataFrame, operations: pl.DataFrame) -> pl.DataFrame:
    taken = operations.filter(pl.col("size") > 0).select(
        "operator", "address", "device", alloc_ns="time_ns", bytes="size", pool=pl.lit(_GE)
    )
    keys = ["operator", "device", "alloc_ns", "bytes", "pool"]
    return blocks.join(taken.unique(keys, keep="first"), on=keys, how="left", maintain_order="left")
