"""Columns of the documented comma-separated files, in their order.

Where MindSpore and PyTorch on Ascend spell a column differently, ``STEP_ID`` gives the spelling by backend.
"""

from __future__ import annotations

STEP_ID: dict[str, str] = {"torch": "Step Id", "plain": "Step Id", "mindspore": "Step ID"}

#: What a capture of Level0 leaves out.
KERNEL_DETAILS_FROM_LEVEL1: tuple[str, ...] = (
    "Mix Block Num",
    "HF32 Eligible",
    "Input Shapes",
    "Input Data Types",
    "Input Formats",
    "Output Shapes",
    "Output Data Types",
    "Output Formats",
    "Context ID",
)
#: Without the step column, which only a capture with step marks has, in front.
KERNEL_DETAILS: tuple[str, ...] = (
    "Model ID",
    "Task ID",
    "Stream ID",
    "Name",
    "Type",
    "OP State",
    "Accelerator Core",
    "Start Time(us)",
    "Duration(us)",
    "Wait Time(us)",
    "Block Num",
    *KERNEL_DETAILS_FROM_LEVEL1,
)

OPERATOR_DETAILS: dict[str, tuple[str, ...]] = {
    "mindspore": ("Name", "Input Shapes"),
    "torch": (
        "Name",
        "Input Shapes",
        "Call Stack",
        "Host Self Duration(us)",
        "Host Total Duration(us)",
        "Device Self Duration(us)",
        "Device Total Duration(us)",
        "Device Self Duration With AICore(us)",
        "Device Total Duration With AICore(us)",
    ),
}

STEP_TRACE_TIME: tuple[str, ...] = (
    "Step",
    "Computing",
    "Communication(Not Overlapped)",
    "Overlapped",
    "Communication",
    "Free",
    "Stage",
    "Bubble",
    "Communication(Not Overlapped and Exclude Receive)",
    "Preparing",
)

OP_STATISTIC: tuple[str, ...] = (
    "Device_id",
    "OP Type",
    "Core Type",
    "Count",
    "Total Time(us)",
    "Min Time(us)",
    "Avg Time(us)",
    "Max Time(us)",
    "Ratio(%)",
)

API_STATISTIC: tuple[str, ...] = (
    "Device_id",
    "Level",
    "API Name",
    "Time(us)",
    "Count",
    "Avg(us)",
    "Min(us)",
    "Max(us)",
    "Variance",
)

MEMORY_RECORD: tuple[str, ...] = (
    "Component",
    "Timestamp(us)",
    "Total Allocated(MB)",
    "Total Reserved(MB)",
    "Total Active(MB)",
    "Device Type",
)

OPERATOR_MEMORY: tuple[str, ...] = (
    "Name",
    "Size(KB)",
    "Allocation Time(us)",
    "Release Time(us)",
    "Active Release Time(us)",
    "Duration(us)",
    "Active Duration(us)",
    "Allocation Total Allocated(MB)",
    "Allocation Total Reserved(MB)",
    "Allocation Total Active(MB)",
    "Release Total Allocated(MB)",
    "Release Total Reserved(MB)",
    "Release Total Active(MB)",
    "Stream Ptr",
    "Device Type",
)

DATASET: tuple[str, ...] = ("Operation", "Stage", "Occurrences", "Avg. time (us)", "Custom Info")

MINDDATA_PIPELINE_RAW: tuple[str, ...] = (
    "op_id",
    "op_type",
    "num_workers",
    "output_queue_size",
    "output_queue_average_size",
    "output_queue_length",
    "output_queue_usage_rate",
    "sample_interval",
    "parent_id",
    "children_id",
)
