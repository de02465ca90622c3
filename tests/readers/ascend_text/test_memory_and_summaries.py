"""Memory tables, summaries of the vendor, pipeline files and strategies."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from readers.ascend_builder import (
    capture_events,
)
from readers.ascend_text.small_captures import DETAILS, read


def test_memory_tables_become_bytes_and_nanoseconds(tmp_path: Path) -> None:
    record = (
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\r\n"
        "PTA,1736408883688177.930\t,1.5,2.0,1.75,11,NPU:3\r\n"
        "APP,1736408883688178.000\t,,2109.6015625,,,NPU:3\r\n"
        "PTA,1.69512E+15,1,1,1,11,NPU:3\r\n"
    )
    modules = (
        "Device_id,Component,Timestamp(us),Total Reserved(KB),Device\n"
        "3,HCCL,5.000\t,1024.0,NPU:3\n3,ODD,5.000\t,18014398509481983,NPU:3\n"
    )
    found = read(
        tmp_path, {"trace_view.json": capture_events(), "memory_record.csv": record, "npu_module_mem.csv": modules}
    )
    assert found.rows("memory", "device", "component", "time_ns", "allocated", "reserved", "active") == [
        ("npu:3", "PTA", 1736408883688177930, 1572864, 2097152, 1835008),
        ("npu:3", "APP", 1736408883688178000, None, 2212077568, None),
        ("npu:3", "module HCCL", 5000, None, 1048576, None),
    ]
    assert found.count("ascend_time_damaged") == 1
    assert found.count("ascend_sample_incomplete") == 1
    assert found.count("ascend_module_unsupported") == 1
    assert found.count("ascend_columns_unused", columns="Stream Ptr") == 2


def test_blocks_of_memory_have_their_life(tmp_path: Path) -> None:
    header = (
        "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),"
        "Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),"
        "Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\r\n"
    )
    rows = (
        "aten::mm,0.5,10.000\t,20.000\t,25.000\t,10\t,15\t,1,1,1,1,1,1,77,NPU:0\r\n"
        "aten::add,2,11.000\t,,,,,1,1,1,,,,77,NPU:0\r\n"
        ",-4,,30.000\t,31.000\t,,,,,,1,1,1,77,NPU:0\r\n"
        "cann::X,1,12.000\t,13.000\t,,1\t,,1,1,,1,1,,,NPU:0\r\n"
        "aten::bad,x,,,,,,,,,,,,77,NPU:0\r\n"
    )
    found = read(tmp_path, {"trace_view.json": capture_events(), "operator_memory.csv": header + rows})
    columns = ("operator", "bytes", "alloc_ns", "free_ns", "before_window", "pool", "stream", "alloc_seq")
    assert found.rows("allocations", *columns) == [
        ("aten::mm", 512, 10000, 20000, False, "PTA", 77, 0),
        ("aten::add", 2048, 11000, None, False, "PTA", 77, 1),
        (None, 4096, None, 30000, True, "PTA", 77, 2),
        ("cann::X", 1024, 12000, 13000, False, "GE", None, 3),
    ]
    assert found.count("ascend_block_incomplete") == 1
    assert found.count("ascend_cell_unreadable", column="Size(KB)") == 1


def test_summaries_go_to_reported_by_row_and_column(tmp_path: Path) -> None:
    files = {
        "trace_view.json": capture_events(),
        "step_trace_time.csv": "Device_id,Step,Computing,Free\r\n0,7,8873.756,25.5\r\n",
        "op_statistic.csv": "Device_id,OP Type,Core Type,Count,Ratio(%)\n0,Add,AI_CORE,3,22.077\n",
        "api_statistic.csv": "Level,API Name,Time(us),Count\nhccl,Launch_Ffts,474.41,4\n",
        "operator_details.csv": DETAILS + "add,,,2.25\n",
        "static_op_mem.csv": (
            "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)\nhost,a,,1,0,4294967295,8\n"
        ),
        "hccs.csv": "Device_id,Mode,Max,Min,Average\n0,txThroughput(MB/s),3,1,2\n",
    }
    found = read(tmp_path, files)
    rows = {
        (row["file"], row["step"], row["key"], row["metric"]): row["value"]
        for row in found["reported"].rows(named=True)
    }
    assert rows == {
        ("step_trace_time.csv", 7, None, "Computing"): 8873.756,
        ("step_trace_time.csv", 7, None, "Free"): 25.5,
        ("op_statistic.csv", None, "Add@AI_CORE", "Count"): 3,
        ("op_statistic.csv", None, "Add@AI_CORE", "Ratio(%)"): 22.077,
        ("api_statistic.csv", None, "hccl@Launch_Ffts", "Time(us)"): 474.41,
        ("api_statistic.csv", None, "hccl@Launch_Ffts", "Count"): 4,
        ("operator_details.csv", None, "add", "Count"): 2,
        ("operator_details.csv", None, "add", "Host Self Duration(us)"): 3.75,
        ("static_op_mem.csv", None, "a@1", "Node Index Start"): 0,
        ("static_op_mem.csv", None, "a@1", "Node Index End"): 4294967295,
        ("static_op_mem.csv", None, "a@1", "Size(KB)"): 8,
        ("hccs.csv", None, "txThroughput(MB/s)", "Max"): 3,
        ("hccs.csv", None, "txThroughput(MB/s)", "Min"): 1,
        ("hccs.csv", None, "txThroughput(MB/s)", "Average"): 2,
    }


def test_interconnect_tables_with_times_become_counters(tmp_path: Path) -> None:
    nic = "Device_id,Timestamp(us),Bandwidth(MB/s),rxPacket/s,funcId\n0,10.5,100,N/A,0\n0,20.5,200,7,1\n"
    found = read(tmp_path, {"trace_view.json": capture_events(), "nic.csv": nic})
    title = {number: (process, name) for number, process, name in found.rows("tracks", "track", "process", "name")}
    assert {
        (title[track], time, value) for track, time, value in found.rows("counters", "track", "time_ns", "value")
    } == {
        (("nic", "0 Bandwidth(MB/s)"), 10500, 100.0),
        (("nic", "1 Bandwidth(MB/s)"), 20500, 200.0),
        (("nic", "1 rxPacket/s"), 20500, 7.0),
    }


def test_mindspores_pipeline_files_are_read_too(tmp_path: Path) -> None:
    raw = (
        "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
        "output_queue_usage_rate,sample_interval,parent_id,children_id\n"
        '0,DeviceQueue,1,,,,0,10,,[1]\n1,Batch,4,"[1, 2]",1.5,64,0.02,10,0,\n'
    )
    summary = {
        "pipeline_ops": ["DeviceQueue(id=0)", "Batch(id=1)"],
        "op_ids": [0, 1],
        "queue_utilization_pct": [-1, 50.0],
        "per_batch_time": [3.5],
    }
    files = {
        "trace_view.json": capture_events(),
        "minddata_pipeline_raw_0.csv": raw,
        "minddata_pipeline_summary_0.json": summary,
    }
    found = read(tmp_path, files, name="a_1_20250109123456789_ascend_ms")
    assert found.rows("pipeline_ops", "op", "kind", "parent", "workers", "capacity") == [
        (0, "DeviceQueue", None, 1, None),
        (1, "Batch", 0, 4, 64),
    ]
    assert [queue for (queue,) in found.rows("pipeline_samples", "queue")] == [1, 2]
    assert found["reported"].filter(pl.col("metric") == "per_batch_time")["value"].to_list() == [3.5]
    tracks = found["tracks"]["track"]
    assert tracks.n_unique() == len(tracks)


def test_parallel_strategy_states_stage_and_groups(tmp_path: Path) -> None:
    node = {
        "name": "1",
        "attribute": [
            {"name": "group", "value": {"strVal": "hccl_world_group"}},
            {"name": "group_ranks", "value": {"strVal": "0-1-2"}},
        ],
    }
    strategy = {"config": {"rankId": 0, "stageId": 2}, "graph": {"node": [node, {"name": "2"}]}}
    found = read(tmp_path, {"trace_view.json": capture_events(), "../parallel_strategy_0.json": strategy})
    assert found["ranks"]["pp"].to_list() == [2]
    assert found.rows("groups", "name", "ranks", "origin") == [("hccl_world_group", [0, 1, 2], "parallel_strategy")]
    assert found.count("ascend_graph_left_out") == 2
