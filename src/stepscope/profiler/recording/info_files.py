"""The two small files of the documented directory that say how it was recorded, in the form of each framework."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from stepscope.layout import names
from stepscope.profiler.foundation.line_files import write_json

if TYPE_CHECKING:
    from stepscope.profiler.recording.window import Window

_ENVIRONMENT = (
    "ASCEND_GLOBAL_LOG_LEVEL",
    "ASCEND_HOME_PATH",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "HCCL_ALGO",
    "NCCL_ALGO",
    "NCCL_PROTO",
    "OMP_NUM_THREADS",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TASK_QUEUE_ENABLE",
)
#: How PyTorch on Ascend writes the names of counter groups.
_AIC_METRICS = {
    "PipeUtilization": "ACL_AICORE_PIPE_UTILIZATION",
    "ArithmeticUtilization": "ACL_AICORE_ARITHMETIC_UTILIZATION",
    "Memory": "ACL_AICORE_MEMORY_BANDWIDTH",
    "MemoryL0": "ACL_AICORE_L0B_AND_WIDTH",
    "MemoryUB": "ACL_AICORE_MEMORY_UB",
    "ResourceConflictRatio": "ACL_AICORE_RESOURCE_CONFLICT_RATIO",
    "L2Cache": "ACL_AICORE_L2_CACHE",
    "MemoryAccess": "ACL_AICORE_MEMORY_ACCESS",
    "None": "ACL_AICORE_NONE",
}


def write_info(window: Window) -> None:
    """``profiler_info_N.json``."""
    content = _mindspore_info(window) if window.backend.name == "mindspore" else _torch_info(window)
    write_json(window.directory / names.info_file(window.identity.rank), content)


def write_metadata(window: Window, added: dict[str, Any]) -> None:
    """``profiler_metadata.json``: what the user added, the groups of the job and its telling environment."""
    content = dict(added)
    groups = {
        one["group"]: {
            "group_name": one["name"],
            "group_rank": one["ranks"].index(window.identity.rank) if window.identity.rank in one["ranks"] else -1,
            "global_ranks": one["ranks"],
        }
        for one in window.identity.groups
    }
    if groups:
        content["parallel_group_info"] = groups
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    if environment:
        content["ENV_VARIABLES"] = environment
    if content:
        write_json(window.directory / names.METADATA_FILE, content)


def _torch_info(window: Window) -> dict[str, Any]:
    switches = window.settings.switches()
    level = switches["profiler_level"]
    return {
        "config": {
            "common_config": {
                "activities": [f"ProfilerActivity.{name}" for name in switches["activities"]],
                "schedule": switches["schedule"] or {},
                "record_shapes": switches["record_shapes"],
                "profile_memory": switches["profile_memory"],
                "with_stack": switches["with_stack"],
                "with_flops": False,
                "with_modules": False,
            },
            "experimental_config": {
                "_profiler_level": "Level_none" if level == "LevelNone" else level,
                "_aic_metrics": _AIC_METRICS[switches["aic_metrics"]],
                "_l2_cache": switches["l2_cache"],
                "_msprof_tx": switches["mstx"],
                "_data_simplification": switches["data_simplification"],
                "record_op_args": False,
                "_export_type": switches["export_type"],
                "_sys_io": switches["sys_io"],
                "_sys_interconnection": switches["sys_interconnection"],
                "_host_sys": switches["host_sys"],
            },
        },
        "rank_id": window.identity.rank,
        "torch_version": window.described().get("versions", {}).get("torch"),
    }


def _mindspore_info(window: Window) -> dict[str, Any]:
    versions = window.described().get("versions", {})
    parameters = {**window.settings.switches(), "output_path": str(window.directory.parent)}
    return {
        "profiler_parameters": parameters,
        "ms_profiler_info": {"rank_id": str(window.identity.rank), "device_id": str(window.identity.local_rank)},
        "cann_profiler_info": {},
        "analysis_cost_time": {},
        "ms_version": versions.get("mindspore"),
        "cann_version": versions.get("cann", "not known"),
        "jit_level": versions.get("jit_level", ""),
    }
