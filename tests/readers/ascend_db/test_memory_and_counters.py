"""Memory tables and samples become curves, blocks and series."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from readers.ascend_db.built_databases import read_file
from readers.ascend_db_builder import (
    NS,
    small_run,
)


# Memory, counters, identity
def test_memory_tables_become_curves_and_blocks(tmp_path: Path) -> None:
    build = small_run()
    text = build.text
    build.add(
        "MEMORY_RECORD",
        component=text["PTA"],
        timestamp=NS + 1,
        totalAllocated=10,
        totalReserved=20,
        totalActive=15,
        streamPtr=5,
        deviceId=0,
    )
    build.add("NPU_MEM", type=text["app"], ddr=1024, hbm=2048, timestampNs=NS + 2, deviceId=0)
    build.add("NPU_MODULE_MEM", moduleId=33, timestampNs=NS + 3, totalReserved=77, deviceId=0)
    build.add("NPU_MODULE_MEM", moduleId=3, timestampNs=NS + 3, totalReserved=(1 << 63) - 1, deviceId=0)
    block = {"deviceId": 0, "streamPtr": 5, "name": text["aten::empty"]}
    build.add("OP_MEMORY", **block, size=512, allocationTime=NS + 10, releaseTime=NS + 20, activeReleaseTime=NS + 30)
    build.add("OP_MEMORY", **block, size=256, allocationTime=NS + 11)
    build.add("OP_MEMORY", **block, size=-128, releaseTime=NS + 12)
    build.add("OP_MEMORY", deviceId=0, name=text["Conv2D1"], size=64, allocationTime=NS + 13, releaseTime=NS + 14)
    for kind, moment in (("allocate", 13), ("release", 14)):
        build.add(
            "NPU_OP_MEM",
            operatorName=text["Conv2D1"],
            addr=4096,
            type=text[kind],
            size=64,
            timestampNs=NS + moment,
            totalAllocate=64,
            totalReserve=100,
            component=text["GE"],
            deviceId=0,
        )
    read = read_file(build, tmp_path)
    curves = read.table("memory").select(
        pl.col("device", "component").cast(pl.String), "time_ns", "allocated", "reserved", "active"
    )
    assert set(curves.rows()) == {
        ("npu:0", "PTA", NS + 1, 10, 20, 15),
        ("npu:0", "APP", NS + 2, None, 3072, None),
        ("npu:0", "module APP", NS + 3, None, 77, None),
    }
    assert read.note("db_module_unsupported") == 1
    columns = ["pool", "operator", "bytes", "alloc_ns", "free_ns", "before_window", "address"]
    blocks = read.table("allocations").select(pl.col(columns).exclude("pool"), pl.col("pool").cast(pl.String))
    assert set(blocks.select(columns).rows()) == {
        ("PTA", "aten::empty", 512, NS + 10, NS + 20, False, None),
        ("PTA", "aten::empty", 256, NS + 11, None, False, None),
        ("PTA", "aten::empty", 128, None, NS + 12, True, None),
        ("GE", "Conv2D1", 64, NS + 13, NS + 14, False, 4096),
    }
    assert read.note("db_rows_repeat_table", table="NPU_OP_MEM") == 2


def test_without_a_list_of_blocks_they_come_from_the_graph_engines_operations(tmp_path: Path) -> None:
    build = small_run()
    for kind, moment, size in (("allocate", 5, 64), ("release", 9, 64), ("release", 3, 32)):
        build.add(
            "NPU_OP_MEM",
            operatorName=build.text["Conv"],
            addr=4096,
            type=build.text[kind],
            size=size,
            timestampNs=NS + moment,
            totalAllocate=size,
            totalReserve=100,
            component=build.text["GE"],
            deviceId=0,
        )
    read = read_file(build, tmp_path)
    rows = read.table("allocations").select("bytes", "alloc_ns", "free_ns", "before_window").rows()
    assert set(rows) == {(64, NS + 5, NS + 9, False), (32, None, NS + 3, True)}
    assert read.table("memory").select("time_ns", "allocated").rows() == [(NS + 3, 32), (NS + 5, 64), (NS + 9, 64)]


def test_samples_become_series_under_the_timelines_names_and_units(tmp_path: Path) -> None:
    build = small_run()
    text = build.text
    build.add("AICORE_FREQ", deviceId=0, timestampNs=NS, freq=1800)
    build.add("HBM", deviceId=0, timestampNs=NS, bandwidth=3 << 20, hbmId=2, type=text["read"])
    build.add("LLC", deviceId=0, timestampNs=NS, hitRate=85.5, throughput=1 << 20, llcId=1, mode=text["write"])
    build.add("NPU_MEM", type=text["device"], ddr=1024, hbm=2048, timestampNs=NS, deviceId=0)
    for accelerator in (0, 1):
        build.add("ACC_PMU", accId=accelerator, readBwLevel=accelerator, timestampNs=NS, deviceId=0)
    build.add("PCIE", deviceId=0, timestampNs=NS, txPostMin=1, txPostMax=2)
    build.add("CPU_USAGE", timestampNs=NS, cpuId="3", usage=25)
    build.add("CPU_USAGE", timestampNs=None, cpuId="3", usage=25)
    build.add(
        "SAMPLE_PMU_SUMMARY", deviceId=0, metric=text["vec_ratio"], value=0.5, coreId=7, coreType=text["AI_VECTOR_CORE"]
    )
    read = read_file(build, tmp_path)
    names = read.table("tracks").filter(pl.col("kind") == "counter").select("track", "name")
    rows = read.table("counters").join(names, on="track").select("name", "time_ns", "value").rows()
    assert set(rows) == {
        ("AI Core Freq (MHz)", NS, 1800.0),
        ("HBM 2/Read(MB/s)", NS, 3.0),
        ("LLC 1 Write/Hit Rate(%)", NS, 85.5),
        ("LLC 1 Write/Throughput(MB/s)", NS, 1.0),
        ("Device/DDR (KB)", NS, 1.0),
        ("Device/HBM (KB)", NS, 2.0),
        ("read_bandwidth, accelerator 0", NS, 0.0),
        ("read_bandwidth, accelerator 1", NS, 1.0),
        ("txPostMin", NS, 1.0),
        ("txPostMax", NS, 2.0),
        ("CPU 3 (%)", NS, 25.0),
    }
    assert read.table("cpu").select("time_ns", pl.col("scope").cast(pl.String), "id", "idle").rows() == [
        (NS, "machine", 3, 0.75)
    ]
    assert read.note("db_rows_empty", table="CPU_USAGE") == 1
    summary = read.table("reported").select(pl.col("key", "metric").cast(pl.String), "value").rows()
    assert summary == [("AI_VECTOR_CORE core 7", "vec_ratio", 0.5)]
