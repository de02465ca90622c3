"""Who this process is within its job: rank, world size, device and groups, from the framework or the environment."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass, field
from typing import Any

from stepscope.profiler.foundation.own_faults import ours

_RANK = ("RANK", "RANK_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
_WORLD = ("WORLD_SIZE", "RANK_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS")
_LOCAL = ("LOCAL_RANK", "DEVICE_ID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


@dataclass
class Identity:
    """One worker process of a job."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    host: str = field(default_factory=socket.gethostname)
    origin: str = "none"  # torch.distributed, mindspore, environment or none
    #: Each with ``group`` (its id), ``name`` and ``ranks`` in the group's order.
    groups: list[dict[str, Any]] = field(default_factory=list)


def identity() -> Identity:
    """The identity of this process as it is known now; groups may appear later in a job's life."""
    by_environment = _from_environment()
    for ask in (_from_torch, _from_mindspore):
        try:
            stated = ask(by_environment)
        except ours(Exception):  # half initialised, or another version: the environment has to do
            continue
        if stated is not None:
            return stated
    return by_environment


def _from_environment() -> Identity:
    rank, world, local = (_first(names) for names in (_RANK, _WORLD, _LOCAL))
    origin = "none" if rank is None else "environment"
    rank = rank or 0
    return Identity(rank, max(world or 1, rank + 1), local if local is not None else 0, origin=origin)


def _from_torch(fallback: Identity) -> Identity | None:
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    identity = Identity(distributed.get_rank(), distributed.get_world_size(), fallback.local_rank, fallback.host)
    identity.origin = "torch.distributed"
    identity.groups = _torch_groups(distributed)
    return identity


def _torch_groups(distributed: Any) -> list[dict[str, Any]]:
    try:
        configurations = distributed.distributed_c10d._get_all_pg_configs()
    except ours(Exception):  # a version without it: the trace itself still names the groups
        return []
    return [
        {
            "group": str(one.get("pg_name")),
            "name": str(one.get("pg_desc") or one.get("pg_name")),
            "ranks": [int(rank) for rank in one.get("ranks") or []],
        }
        for one in configurations
    ]


def _from_mindspore(fallback: Identity) -> Identity | None:
    communication: Any = sys.modules.get("mindspore.communication")
    if communication is None or not communication.GlobalComm.INITED:
        return None
    rank, world = communication.get_rank(), communication.get_group_size()
    identity = Identity(rank, world, fallback.local_rank, fallback.host)
    identity.origin = "mindspore"
    name = str(communication.GlobalComm.WORLD_COMM_GROUP)
    identity.groups = [{"group": name, "name": name, "ranks": list(range(world))}]
    return identity


def _first(names: tuple[str, ...]) -> int | None:
    for name in names:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None
