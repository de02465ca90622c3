"""Samples over time to ``counters`` and ``cpu``. What the columns of a table mean is data: one entry per table.

Series have the names and units of the vendor's own timeline, so that captures of both forms look the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import polars as pl

from stepscope.readers.ascend_db.database_reading import DatabaseReading
from stepscope.readers.ascend_db.strings import as_texts
from stepscope.readers.ascend_db.timeline import Layer
from stepscope.readers.files.exact_time import LARGEST_NS

_MEGA: Final = float(1 << 20)  # of the vendor's MB/s
_KILO: Final = float(1 << 10)
_TIME: Final = "timestampNs"
_DEVICE: Final = "deviceId"
# As the vendor's timeline writes them.
_SPELLING: Final = {"read": "Read", "write": "Write", "app": "APP", "device": "Device"}


@dataclass(frozen=True)
class Samples:
    """One table. ``series`` gives each column the name of its series, in which ``{}`` stand for the values of
    ``by`` and ``by_text``, in this order; without it every other column is a series under its own name.
    """

    table: str
    layer: Layer
    series: dict[str, str] = field(default_factory=dict)
    by: tuple[str, ...] = ()  # tell series of one column apart
    by_text: tuple[str, ...] = ()  # the same, as ids of texts
    divisor: dict[str, float] = field(default_factory=dict)


TABLES: Final = (
    Samples("AICORE_FREQ", Layer("AI Core Freq", "NPU", 14), {"freq": "AI Core Freq (MHz)"}),
    Samples(
        "HBM", Layer("HBM", "NPU", 17), {"bandwidth": "HBM {}/{}(MB/s)"}, ("hbmId",), ("type",), {"bandwidth": _MEGA}
    ),
    Samples(
        "DDR",
        Layer("DDR", "NPU", 17),
        {"read": "DDR/Read(MB/s)", "write": "DDR/Write(MB/s)"},
        divisor={"read": _MEGA, "write": _MEGA},
    ),
    Samples(
        "LLC",
        Layer("LLC", "NPU", 18),
        {"hitRate": "LLC {} {}/Hit Rate(%)", "throughput": "LLC {} {}/Throughput(MB/s)"},
        ("llcId",),
        ("mode",),
        {"throughput": _MEGA},
    ),
    Samples(
        "NPU_MEM",
        Layer("NPU MEM", "NPU", 19),
        {"ddr": "{}/DDR (KB)", "hbm": "{}/HBM (KB)"},
        (),
        ("type",),
        {"ddr": _KILO, "hbm": _KILO},
    ),
    Samples(
        "SOC_BANDWIDTH_LEVEL",
        Layer("Stars Soc Info", "NPU", 20),
        {"l2BufferBwLevel": "L2 Buffer Bw Level", "mataBwLevel": "Mata Bw Level"},
    ),
    Samples(
        "ACC_PMU",
        Layer("Acc PMU", "NPU", 21),
        {
            "readBwLevel": "read_bandwidth, accelerator {}",
            "writeBwLevel": "write_band_width, accelerator {}",
            "readOstLevel": "read_ost, accelerator {}",
            "writeOstLevel": "write_ost, accelerator {}",
        },
        ("accId",),
    ),
    Samples("QOS", Layer("QoS", "NPU", 22), {"bandwidth": "QoS {}"}, (), ("eventName",)),
    Samples(
        "HCCS",
        Layer("HCCS", "NPU", 24),
        {"txThroughput": "HCCS/Tx(MB/s)", "rxThroughput": "HCCS/Rx(MB/s)"},
        divisor={"txThroughput": _MEGA, "rxThroughput": _MEGA},
    ),
    Samples("PCIE", Layer("PCIe", "NPU", 25)),
    Samples("NIC", Layer("NIC", "NPU", 26), by=("funcId",)),
    Samples("ROCE", Layer("RoCE", "NPU", 27), by=("funcId",)),
    Samples("NETDEV_STATS", Layer("NetDev Stats", "NPU", 28)),
    Samples(
        "SAMPLE_PMU_TIMELINE",
        Layer("AI Core Utilization", "NPU", 29),
        {
            "usage": "usage of core {} of {} (%)",
            "totalCycle": "cycles of core {} of {}",
            "freq": "frequency of core {} of {} (MHz)",
        },
        ("coreId",),
        ("coreType",),
    ),
    Samples("CPU_USAGE", Layer("CPU Usage", "CPU", 30), {"usage": "CPU {} (%)"}, ("cpuId",)),
    Samples("HOST_MEM_USAGE", Layer("Memory Usage", "CPU", 31)),
    Samples("HOST_DISK_USAGE", Layer("Disk Usage", "CPU", 32)),
    Samples("HOST_NETWORK_USAGE", Layer("Network Usage", "CPU", 33)),
)


def write_counters(reading: DatabaseReading) -> None:
    """All tables of samples, and the series' tracks."""
    for samples in TABLES:
        if reading.database.columns(samples.table):
            _write(samples, reading)
    usage = reading.database.frame("CPU_USAGE", [_TIME], ["usage"], ["cpuId"]).drop_nulls([_TIME, "usage"])
    usage = usage.filter(pl.col(_TIME).is_between(0, LARGEST_NS) & pl.col("usage").is_finite())
    reading.out.add(
        "cpu",
        usage.select(
            time_ns=_TIME,
            scope=pl.lit("machine"),
            id=pl.col("cpuId").cast(pl.Int64, strict=False),
            idle=1 - pl.col("usage") / 100,
        ),
    )


def _write(samples: Samples, reading: DatabaseReading) -> None:
    keys = (*samples.by, *samples.by_text)
    given = {_TIME, _DEVICE, *keys}
    series = samples.series or {
        column: ", ".join([column, *(f"{key} {{}}" for key in keys)])
        for column in reading.database.columns(samples.table).values()
        if column not in given
    }
    rows = reading.database.frame(
        samples.table, [_TIME, _DEVICE], list(series), list(samples.by), list(samples.by_text)
    )
    good = (
        rows.filter(pl.col(_TIME).is_between(0, LARGEST_NS) & pl.any_horizontal(pl.col(list(series)).is_finite()))
        if series
        else rows.clear()
    )
    reading.note("db_rows_empty", table=samples.table, count=rows.height - good.height)
    words = {name: as_texts(reading.strings.coded(good[name])) for name in samples.by_text}
    good = good.with_columns(
        *(texts.replace(_SPELLING).fill_null("?").alias(name) for name, texts in words.items()),
        *(pl.col(name).fill_null("?") for name in samples.by),
        pl.col(_DEVICE).fill_null(-1),
    )
    several = good[_DEVICE].n_unique() > 1
    key_columns = [_DEVICE, *keys]
    for column, name in series.items():
        own = good.filter(pl.col(column).is_finite())
        distinct = own.select(key_columns).unique(maintain_order=True)
        tracks = []
        for device, *values in distinct.iter_rows():
            label = name.format(*values)
            tracks.append(reading.timeline.track("counter", samples.layer, label, label, device if several else None))
        numbered = distinct.with_columns(track=pl.Series(tracks, dtype=pl.Int32))
        numbered_samples = own.join(numbered, on=key_columns, how="left", maintain_order="left")
        value = pl.col(column) / samples.divisor.get(column, 1.0)
        reading.out.add(
            "counters",
            numbered_samples.select("track", time_ns=_TIME, value=value).sort("track", "time_ns", maintain_order=True),
        )
