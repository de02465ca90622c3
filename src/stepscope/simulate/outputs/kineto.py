"""A simulated run as traces of PyTorch's profiler, one file per rank."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from stepscope.deliver import chrome_trace
from stepscope.simulate.model import Model, Result
from stepscope.simulate.outputs.store import write_store


def kineto(model: Model, directory: Path, coarse: bool) -> Result:
    """Write ``rank0.json.gz`` and so on."""
    with tempfile.TemporaryDirectory(dir=directory, prefix=".store-") as folder:
        store, result = write_store(model, Path(folder), coarse=coarse)
        for part in store.manifest.parts:
            file = directory / f"rank{part.rank}.json.gz"
            header = _header(model, part.rank)
            chrome_trace.write(store, [part.rank], file, zipped=True, more_header=header, memory=True)
    return result


def _header(model: Model, rank: int) -> dict[str, Any]:
    """What PyTorch tells beside the events: machine, device, ranks and groups of the job."""
    layout, device = model.layout, model.scenario.device
    groups = [group for groups in layout.groups.values() for group in groups if rank in group.ranks]
    header: dict[str, Any] = {
        "schemaVersion": 1,
        "record_shapes": 1,
        "profile_memory": 1,
        "host_name": f"host{layout.host_of(rank):03d}",
        "distributedInfo": {
            "backend": "nccl" if device.kind == "gpu" else "gloo",
            "rank": rank,
            "world_size": layout.world,
            "pg_count": len(groups),
            "pg_config": [
                {
                    "pg_name": group.name,
                    "pg_desc": group.dimension,
                    "pg_size": len(group.ranks),
                    "ranks": list(group.ranks),
                }
                for group in groups
            ],
        },
    }
    if device.kind == "gpu":
        index = rank % model.scenario.host.ranks
        size = int(device.memory_gib * 2**30)
        header["deviceProperties"] = [{"id": index, "name": device.name, "totalGlobalMem": size}]
    return header
