"""A simulated run as documented capture directories, one per rank, in the flavour of PyTorch or of MindSpore."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from stepscope.deliver.capture_directory import deliver
from stepscope.errors import UsageError
from stepscope.facts.simulation import simulation_facts
from stepscope.layout import names
from stepscope.simulate.model import Model, Result
from stepscope.simulate.outputs.store import write_store

_BACKENDS = {"pytorch": "torch", "mindspore": "mindspore"}


def ascend(model: Model, directory: Path, coarse: bool, *, form: str) -> Result:
    """Write the text files or the databases of all ranks."""
    if model.scenario.device.kind != "npu":
        raise UsageError("format_needs_npu", form=f"ascend-{form}")
    backend = _BACKENDS[model.scenario.framework]
    stamp = names.timestamp(simulation_facts().clocks.epoch_s * 10**9)
    switches = {"record_shapes": True, "profiler_level": model.scenario.level, "export_type": [form]}
    with tempfile.TemporaryDirectory(dir=directory, prefix=".store-") as folder:
        store, result = write_store(model, Path(folder), coarse=coarse, switches=switches)
        for part in store.manifest.parts:
            host = model.layout.host_of(part.rank)
            capture = directory / names.capture_name(f"host{host:03d}_{4100 + part.rank}", stamp, backend)
            capture.mkdir()
            _write(capture / names.info_file(part.rank), _profiler_info(model, part.rank, form))
            _write(capture / names.METADATA_FILE, _metadata(model, part.rank))
            deliver(store, part.rank, capture)
    return result


def _profiler_info(model: Model, rank: int, form: str) -> dict[str, Any]:
    """``profiler_info_N.json`` with what tools look for in it."""
    level = model.scenario.level
    if model.scenario.framework == "mindspore":
        return {
            "profiler_parameters": {
                "profiler_level": level,
                "export_type": [form],
                "record_shapes": True,
            },
            "ms_profiler_info": {"rank_id": str(rank), "device_id": str(rank % model.scenario.host.ranks)},
            "cann_profiler_info": {},
            "analysis_cost_time": {},
            "ms_version": "simulated",
        }
    return {
        "config": {
            "common_config": {"activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"], "record_shapes": True},
            "experimental_config": {"_profiler_level": level, "_export_type": form},
        },
        "rank_id": rank,
        "torch_version": "simulated",
    }


def _metadata(model: Model, rank: int) -> dict[str, Any]:
    """``profiler_metadata.json``: the groups that the rank belongs to, and its plan."""
    plan = model.scenario.plan
    groups = {
        group.name: {
            "group_name": group.dimension,
            "group_rank": group.ranks.index(rank),
            "global_ranks": list(group.ranks),
        }
        for groups in model.layout.groups.values()
        for group in groups
        if rank in group.ranks
    }
    sizes = {
        "tensor_model_parallel_size": plan.tp,
        "pipeline_model_parallel_size": plan.pp,
        "data_parallel_size": plan.dp,
        "context_parallel_size": plan.cp,
        "expert_model_parallel_size": plan.ep,
        "sequence_parallel": False,
        "rank": rank,
        "world_size": model.layout.world,
    }
    return {"parallel_group_info": groups, "distributed_args": sizes}


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1), "utf-8")
