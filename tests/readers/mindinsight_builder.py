"""A small MindInsight profiler directory, by hand, with every kind of file; times are chosen so that sums are easy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STEP_TRACE = (
    "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail,"
    "stream_5_0_AllReduce-op1,stream_5_0_AllReduce-op1_start_point,stream_5_0_AllReduce-op1_end_point,"
    "stream_6_0_Receive-op2_start_point,stream_6_0_Receive-op2_end_point,stream_6_0_Receive-op2\n"
    "1,1000000,1400000,400000,1000000,1300000,0,300000,100000,5000,1100000,1105000,1200000,1210000,10000\n"
    "2,1400000,1900000,500000,1450000,1800000,50000,350000,100000,6000,1500000,1506000,0,0,0\n"
    "-,1200000,1650000,450000,1225000,1550000,25000,325000,100000,5500,1300000,1305500,600000,605000,5000\n"
)
POINTS = {"fp_start": "Default/Cast-op6", "bp_end": "Default/TransData-op7"}

TASKS = (
    "op_name, stream_id, start_time(ms), duration(ms)\n"
    "Default/Cast-op6,3,10.5,0.0031\n"
    "Gradients/Default/MatMul-op8,3,11.25,1.00000000000001\n"
    "Default/Cast-op6,3,15.125,0.25\n"
)
HWTS = (
    "====================45 HWTS data====================\n"
    "Type           cnt  Core_ID  Block_ID  Task_ID  Cycle_counter   Stream_ID\n"
    "Start of task  0    0        0         3_1      1050000  3\n"
    "End of task    1    0        0         3_1      1050310  3\n"
    "Start of task  2    0        0         3_2      1125000  3\n"
    "Start of task  3    0        0         7_1      1125100  7\n"
    "End of task    4    0        0         7_1      1125101  7\n"
    "End of task    5    0        0         3_2      1225000  3\n"
    "Start of task  6    0        0         3_1      1512500  3\n"
    "End of task    7    0        0         3_1      1537500  3\n"
    "Start of task  8    0        0         7_9      1600000  7\n"
    "End of task    9    0        0         8_9      1600001  8\n"
)
FRAMEWORK = (
    "task_id,stream_id,block_dim,full_kernel_name,op_name,kernel_name,kernel_type,subgraph,op_info\n"
    '1,3,32,Default/Cast-op6,Default/Cast-op6,Cast-op6,Cast,Default,"{""input_0"": {""format"": ""NCHW"", '
    '""data_type"": ""NUMBER_TYPE_FLOAT32"", ""shape"": ""32,3""}, ""output_0"": {""format"": ""NC1HWC0"", '
    '""data_type"": ""NUMBER_TYPE_FLOAT16"", ""shape"": ""32,3""}}"\n'
    "2,3,1,Gradients/Default/MatMul-op8,MatMul-op8,MatMul-op8,MatMul,Gradients,\n"
    "3,3,1,Default/Never-op9,Never-op9,Never-op9,Never,Default,\n"
)
AICPU = (
    "serial_number,kernel_type,total_time,dispatch_time,execution_time,run_start,run_end\n"
    "1,InitData,7.906,0.15,0.22,9000,9160\n"
    "2,GetNext,0.888,0.132,0.22,14100,14618\n"
)
AICPU_OLD = (
    "serial_number node_type_name total_time(ms) dispatch_time(ms) run_start run_end\n"
    "1 InitData 7.906 0.15 9000 9160\n"
    "2 GetNext 0.888 0.132 14100 14618\n"
    "AI CPU Total Time(ms): 8.794\n"
)
# Relative to the first event, AI CPU's InitData at 9000 us.
DISPLAY: list[dict[str, Any]] = [
    {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "AI Core Op"}},
    {"name": "thread_name", "ph": "M", "pid": 0, "tid": 100000, "args": {"name": "Steps"}},
    {"name": "InitData", "ph": "X", "tid": "0", "ts": 0.0, "dur": 159.9999964, "pid": 9000},
    {"name": "GetNext", "ph": "X", "tid": "0", "ts": 5099.9999985, "dur": 518.0, "pid": 9000},
    {"name": "Cast-op6", "ph": "X", "tid": "3", "ts": 1500.0, "dur": 3.1, "pid": 0, "args": {"type": "Cast"}},
    {"name": "MatMul-op8", "ph": "X", "tid": "3", "ts": 2250.0, "dur": 1000.0, "pid": 0},
    {"name": "Cast-op6", "ph": "X", "tid": "3", "ts": 6125.0, "dur": 250.0, "pid": 0},
    {"name": "1", "ph": "X", "tid": 100000, "ts": 1000.0, "dur": 4000.0, "pid": 0},
    {"name": "conv1", "ph": "X", "tid": "Scope Name", "ts": 1500.0, "dur": 3.1, "pid": 0, "scope_level": 1},
    {"name": "AllReduce-op1", "ph": "X", "tid": "5", "ts": 2000.0, "dur": 50.0, "pid": 10000},
    {"name": "free_time", "ph": "X", "tid": 8002, "ts": 1503.1, "dur": 700.0, "pid": 12000},
    {"name": "Assign-op3", "ph": "X", "tid": "HostCpuOps", "ts": 1600.0, "dur": 7.0, "pid": 11000},
]
GPU_DISPLAY: list[dict[str, Any]] = [
    {"name": "Default/Add-op0", "ph": "X", "tid": "Ops", "ts": 1600695893269618.2, "dur": 303.84, "pid": 0},
    {
        "name": "void Add<float>(int)",
        "ph": "X",
        "tid": "Stream #17",
        "ts": 1600695893269700.8,
        "dur": 5.792,
        "pid": 0,
        "args": {"type": "cuLaunchKernel", "op_full_name": "Default/optimizer-Momentum/Add-op0", "block_dim": "8,1,1"},
    },
]
LINKS = {"1-0": {"SDMA": [0.5, 100.0, 200000.0]}, "0-0": {"SDMA": [0.25, 4.096, 16384.0]}}
CALLS: dict[str, Any] = {
    "stream_5_0_AllReduce-op1": [1, 0.75, 2.25, LINKS],
    "stream_6_0_Receive-op2": ["1", 0.125, 1.5, {"1-0": {"RDMA": [0.125, 8.0, 64000.0, 0.0625]}}],
}
CLUSTER = (
    "computation_time,communication_alone_time,stage_time,receive_alone_time,collective_communication_alone_time\n"
    "3.5,0.5,3.9,0.1,0.4\n4.5,0.5,4.9,0.1,0.4\n4.5,0.5,4.9,0.1,0.4\n"
)
SHAPES_GPU = {
    "operator": {
        "1": [{"step": 1, "op_type": "Add", "op_name": "Add-op6", "dur": 75.616, "shape_info": ["[32, 1]", "[32]"]}],
        "2": [{"step": 2, "op_type": "Add", "op_name": "Add-op6", "dur": 48.64, "shape_info": []}],
    },
    "kernel": {"1": [{"op_name": "AddKernel", "dur": 3.904, "block_dim": "256,1,1", "grid_dim": "2,1,1"}]},
    "operator_type": {"1": {"Add": [75.616, 1, 75.616]}},
    "kernel_type": {"1": {"AddKernel": [3.904, 1, 3.904, "Default/Add-op6"]}},
}
SHAPES_ASCEND = {
    "op_type": {"Add": [1.5, 2.5]},
    "Add": [{"Add-op1": {"op_exe_time": [1.0, 2.0], "op_shape": ["[2]", "[4]"]}}],
}


def _number(value: int) -> dict[str, Any]:
    return {"dtype": "DT_INT64", "intVal": str(value)}


STRATEGY: dict[str, Any] = {
    "config": {
        "rankId": 0,
        "stageId": 1,
        "parallelType": "semi_auto_parallel",
        "stageDevices": [{"dim": [{"size": "0"}, {"size": "1"}]}, {"dim": [{"size": "2"}, {"size": "3"}]}],
    },
    "graph": {
        "node": [
            {"name": "1", "fullName": "Default/GetNext-op1", "attribute": []},
            {
                "name": "2",
                "fullName": "Default/AllReduce-op2",
                "instanceName": "redistribution_1",
                "input": [{"name": "1"}],
                "attribute": [
                    {
                        "name": "in_strategy",
                        "value": {"values": [{"values": [_number(2), _number(1)]}, {"values": [_number(1)]}]},
                    },
                    {"name": "group", "value": {"strVal": "2-7834"}},
                    {"name": "group_ranks", "value": {"strVal": "2-3"}},
                ],
            },
        ],
        "parameters": [{"name": "w"}],
        "constVals": [],
    },
}
MEMORY_PLAN = {
    "0": {
        "graph_id": 0,
        "static_mem": 0.5,
        "fp_start": 2,
        "lines": [0.5, 0.75],
        "nodes": [{"node_id": 0, "name": "a", "fullname": "Default/a", "size": 0.25, "allocated": 0.25}],
        "breakdowns": [[{"tensor_name": "a:0", "size": 0.25, "life_start": 0, "life_end": 1}]],
    }
}
OPERATOR_MEMORY = (
    "Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),"
    "Release Total Allocated(MB),Release Total Reserved(MB),Device\n"
    "Default/Add-op1,2,1000.5,10,3,8,1,8,NPU:0\n"
    "Default/Add-op2,1,1001,N/A,4,8,N/A,N/A,NPU:0\n"
)
TYPE_TIMES = (
    "====================op compute time====================\n"
    "optype_name compute_time(ms, per-step) called_times(per-step) percent\n"
    "Cast 0.0031 3 2.0\n\nDetail:\n"
    "op_name op_type avg_execution_time subgraph full_op_name\n"
    "Cast-op6 Cast 0.0031 Default Default/Cast-op6\n"
)
OPERATOR_TIMES = (
    "====================op compute time====================\n"
    "op_name       compute_time(ms) stream_id\n------------  ---------------  ---------\n"
    "Default/Cast-op6 0.0031  3\ntotal op  1.2531 0\n"
)
CPU_TIMES = "Default/Print-op1;HostCpuOps;500,0.001,7 900,0.002,7 \n"
GPU_TIMES = "Default/Add-op0;GpuOps;1600695893269618200,303.84 1600695893270000000,1.5 \n"
ACTIVITIES = (
    "void Add<float>(int, float);17;1600695893269700800;5.792\nncclKernel_AllReduce;20;1600695893269800000;10.25\n"
)
ACTIVITY_DATA = (
    "name,type,op_full_name,stream_id,block_dim,grid_dim,occurrences,total_duration(us),avg_duration(us),"
    "max_duration(us),min_duration(us)\n"
    '"void Add<float>(int, float)",cuLaunchKernel,Default/Add-op0,17,"256,1,1","2,1,1",1,5.792,5.792,5.792,5.792\n'
)
GPU_STEPS_ASYNC = "".join(
    f"Default/Get-op0,{base} Default/Add-op0,{base + 500} Default/Mul-op1,{base + 3000} Default/End-op2,{base + 4000} "
    f"Default/AllReduce-op3,{base + 3100},{base + 3200}\n"
    for base in (1600695893269618000, 1600695893269622000)
)
GPU_STEPS = (
    "Default/Add-op0 100,120 500,520\nDefault/Mul-op1 300,400 700,800\nDefault/End-op2 440,450 840,850\n"
    "Default/AllReduce-op3 410,430 810,835\n"
)


def hccl_raw() -> str:
    """The communication file: one step and the average."""
    rows = ["step_num,communication_cost,wait_cost,link_info,communication_operator_cost"]
    for step in ("1", "-"):
        cells = [json.dumps(value).replace('"', '""') for value in (LINKS, CALLS)]
        rows.append(f'{step},0.875,3.75,"{cells[0]}","{cells[1]}"')
    return "\n".join(rows) + "\n"


def contents(rank: int = 0) -> dict[str, str]:
    """Every file of an Ascend rank by name."""
    return {
        f"profiler_info_{rank}.json": json.dumps(
            {"context_mode": "graph", "rank_id": str(rank), "rank_size": 4, "parallel_mode": "auto", "stage_num": 2}
            | {"ms_version": "2.0.0"}
        ),
        f"step_trace_raw_{rank}_detail_time.csv": STEP_TRACE,
        "step_trace_point_info.json": json.dumps(POINTS),
        f"output_timeline_data_{rank}.txt": TASKS,
        f"output_format_data_hwts_{rank}.txt": HWTS,
        f"framework_raw_{rank}.csv": FRAMEWORK,
        f"aicpu_intermediate_{rank}.csv": AICPU,
        f"output_data_preprocess_aicpu_{rank}.txt": AICPU_OLD,
        f"ascend_timeline_display_{rank}.json": json.dumps(DISPLAY),
        f"ascend_timeline_summary_{rank}.json": json.dumps({"total_time": 1.2531, "num_of_streams": 1}),
        f"hccl_raw_{rank}.csv": hccl_raw(),
        f"ascend_cluster_analyse_pipeline-parallel_2_4_{rank}.csv": CLUSTER,
        f"dynamic_shape_info_{rank}.json": json.dumps(SHAPES_ASCEND),
        f"parallel_strategy_{rank}.json": json.dumps(STRATEGY),
        f"memory_usage_details_{rank}.json": json.dumps(MEMORY_PLAN),
        f"memory_usage_summary_{rank}.json": json.dumps({"capacity": 31.5, "peak_mem": 2.25, "allocations": 7}),
        f"operator_memory_{rank}.csv": OPERATOR_MEMORY,
        f"output_op_compute_time_{rank}.txt": OPERATOR_TIMES,
        f"output_op_compute_time_detail_{rank}.txt": TYPE_TIMES,
        f"aicore_intermediate_{rank}_type.csv": "kernel_type,total_time,execution_frequency,percent\nCast,0.25,3,20\n",
        f"aicore_intermediate_{rank}_detail.csv": "full_op_name,execution_time\nDefault/Cast-op6,0.0031\n",
        f"flops_{rank}.txt": "op_full_name, MFLOPs(10^6 cube), GFLOPS(10^9 cube)\nDefault/Cast-op6, 333, 12.5\n",
        f"flops_summary_{rank}.json": json.dumps({"cube_FLOPs": 107146.763}),
        f"flops_scope_{rank}.json": json.dumps(
            {
                "data": {
                    "nodes": [{"name": "Total"}, {"name": "Default"}, {"name": "Lone"}],
                    "links": [{"source": "Total", "target": "Default", "value": 4655.465}],
                },
                "max_scope_num": 2,
            }
        ),
        f"cpu_op_execute_timestamp_{rank}.txt": CPU_TIMES,
        f"device_queue_profiling_{rank}.txt": "0 0 1 7 5\n1 64 1 2 5\n",
    }


def gpu_contents(rank: int = 0) -> dict[str, str]:
    """The files that only a GPU run writes."""
    return {
        f"step_trace_profiling_{rank}.txt": GPU_STEPS_ASYNC,
        f"gpu_timeline_display_{rank}.json": json.dumps(GPU_DISPLAY),
        f"gpu_op_execute_timestamp_{rank}.txt": GPU_TIMES,
        f"activity_execute_timestamp_{rank}.txt": ACTIVITIES,
        f"gpu_activity_data_{rank}.csv": ACTIVITY_DATA,
        f"gpu_op_detail_info_{rank}.csv": (
            "op_side,op_type,op_name,op_full_name,op_occurrences,op_total_time(us)\n"
            "gpu,Add,Add-op0,Default/Add-op0,2,305.34\n"
        ),
        f"gpu_op_type_info_{rank}.csv": "op_type,type_occurrences,total_time(us)\nAdd,2,305.34\n",
        f"gpu_framework_{rank}.txt": "Add;Add-op0;1;input_1:[2, 3];\n",
        f"start_time_{rank}.txt": "host_monotonic_raw_time(ns): 400\ngpu_start_time(ns): 1600695893269000000\n",
        f"cpu_op_execute_timestamp_{rank}.txt": CPU_TIMES,
        f"dynamic_shape_info_{rank}.json": json.dumps(SHAPES_GPU),
        f"minddata_getnext_profiling_{rank}.txt": "GetNext 1600695893269618000 1600695893269619000 2\n",
    }


def write(directory: Path, files: dict[str, str]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (directory / name).write_text(content)
    return directory
