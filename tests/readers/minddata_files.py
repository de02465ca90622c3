"""MindSpore's input-pipeline files made by hand, and how tests read them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from stepscope.readers import minddata
from stepscope.readers.discovery.source import Source
from stepscope.store.notes import Notes
from support.rank_tables import Tables, counts_of, tables_of

STAGES: dict[str, Any] = {
    "sampling_interval": 100,
    "op_info": [
        {"op_id": 0, "op_type": "DeviceQueueOp", "num_workers": 1, "children": [1], "metrics": None},
        {
            "op_id": 1,
            "op_type": "BatchOp",
            "num_workers": 2,
            "children": [2],
            "metrics": {"output_queue": {"length": 16, "size": [0, 4, 8]}},
        },
        {
            "op_id": 2,
            "op_type": "MapOp",
            "num_workers": 8,
            "metrics": {"output_queue": {"length": 32, "size": [32, 31, 30], "throughput": [0.0, 2.5, 5e-8]}},
        },
    ],
}

# What MindSpore 2.10 wrote on a host of two processors, with lists cut to four samples.
PROCESSORS: dict[str, Any] = {
    "cpu_processor_num": 2,
    "device_info": {
        "context_switch_count": [0, 0, 8481, 0, 8922, 0, 8819, 0],
        "idle_utilization": [0, 0, 0, 0, 16, 0, 44, 0],
        "io_utilization": [0, 0, 0, 0, 0, 0, 1, 0],
        "runnable_process": [3, 3, 3, 3, 2, 2, 4, 4],
        "sys_utilization": [0, 0, 7, 0],
        "user_utilization": [0, 0, 93, 0],
    },
    "op_info": [
        {"metrics": {"sys_utilization": [0, 3, 1, 6], "user_utilization": [0, 83, 86, 134]}, "op_id": 1},
        {"metrics": {"sys_utilization": [0, 1, 1, 1], "user_utilization": [0, 2, 2, 2]}, "op_id": -1},
    ],
    "process_info": {"sys_utilization": [10, 5, 6], "user_utilization": [89, 94, 105]},
    "process_memory_info": {"rss_mbytes": [402.69140625, 402.7, 402.7, 402.70703125]},
    "system_memory_info": {"total_sys_memory_mbytes": [24103.921875] * 4},
    "sampling_interval": 500,
    "time_stamp": [2671231, 2671820, 2672398, 2672982],
}

BATCHES = "0 1 1 4 10\n0 2 1 6 10\n0 0 1 2 10\n1 64 1 0 10\n0 1 2 1 30\n0 2 2 3 30\n0 0 2 2 30\n1 64 2 5 30\n"

RAW_CSV = (
    "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
    "output_queue_usage_rate,sample_interval,parent_id,children_id\r\n"
    '1,BatchOp,2,"[0, 4, 8]",4.0,16,0.25,100,0,[2]\r\n'
    '2,MapOp,8,"[32, 31, 30]",31.0,32,0.96875,100,1,\r\n'
)

SUMMARY: dict[str, Any] = {
    "op_ids": [0, 1],
    "op_names": ["Batch", "Map"],
    "pipeline_ops": ["Batch(id=0)", "Map(id=1)"],
    "num_workers": [2, 1],
    "queue_average_size": [0.0, -1],
    "children_ids": [[1], []],
    "parent_id": [-1, 0],
    "avg_cpu_pct": [0.75, 78.88],
    "per_batch_time": [9.265],
    "bottleneck_warning": ["Batch(id=0)"],
    "bottleneck_suggestion": ["Batch(id=0) has low CPU utilization. Try increasing prefetch_size."],
}

WAITS = "GetNext_dequeue_wait 154907895305 154907895306 3\nGetNext_dequeue_wait 154907895614 154907895617 0\n"


def write_all(directory: Path) -> Path:
    """Every kind of pipeline file, of rank 3."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "pipeline_profiling_3.json").write_text(json.dumps(STAGES))
    (directory / "minddata_cpu_utilization_3.json").write_text(json.dumps(PROCESSORS))
    (directory / "device_queue_profiling_3.txt").write_text(BATCHES)
    (directory / "dataset_iterator_profiling_3.txt").write_text("1 64 1 3\n")
    (directory / "minddata_pipeline_raw_3.csv").write_text(RAW_CSV)
    (directory / "minddata_pipeline_summary_3.json").write_text(json.dumps(SUMMARY))
    rows = [[key, *(json.dumps(item) if isinstance(item, list) else item for item in SUMMARY[key])] for key in SUMMARY]
    with (directory / "minddata_pipeline_summary_3.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    (directory / "minddata_aicpu_3.txt").write_text(WAITS)
    (directory / "dataset.csv").write_text(
        "Operation,Stage,Occurrences,Avg. time (us),Custom Info\nMap,GetBatch,4,12.5,\"{'a': 1}\"\n"
    )
    return directory


def read(directory: Path, out: Path, rank: int | None = None) -> tuple[Tables, dict[str, int], Notes]:
    """All tables of one rank, counts of its notes, and the notes."""
    names = [entry.name for entry in directory.iterdir() if entry.is_file()]
    claimed = minddata.claim(directory, [], names)
    assert claimed
    source = next(source for source in claimed if rank is None or source.rank == rank)
    return read_source(source, out)


def read_source(source: Source, out: Path) -> tuple[Tables, dict[str, int], Notes]:
    tables, notes = tables_of(minddata, source, out)
    return tables, counts_of(notes), notes


def only(directory: Path, *names: str) -> Path:
    for entry in list(directory.iterdir()):
        if entry.name not in names:
            entry.unlink()
    return directory
