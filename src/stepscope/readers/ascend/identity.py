"""Who recorded an Ascend capture: level, switches, versions, parallel coordinates and groups, from its two JSON files.

A communication group has one id in the whole store: the decimal 64-bit hash that communication files carry behind
``@``. Where only the group's long name is known (``{ip}%{nic}_{port}_{rank}_{time}``), :func:`group_id` computes it.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import polars as pl

from stepscope.facts.ascend import ascend_facts
from stepscope.readers.files.json_values import as_dict
from stepscope.readers.files.repair import clean_text

_HASH_PRIMES: Final = (29, 131)
_SIZES: Final = {
    "tp": "tensor_model_parallel_size",
    "cp": "context_parallel_size",
    "dp": "data_parallel_size",
    "pp": "pipeline_model_parallel_size",
}
_DIMENSIONS: Final = ("dp", "tp", "pp", "ep", "cp")
_LARGEST: Final = 1 << 31
_VERSIONS: Final = ("torch_npu_version", "cann_version", "ms_version", "torch_version", "driver_version")


def rank_columns(profiler_info: dict[str, Any], profiler_metadata: dict[str, Any]) -> dict[str, Any]:
    """Columns of ``ranks`` that the two files tell; what they do not tell is None."""
    switches = _switches(profiler_info) | _further(profiler_info, profiler_metadata)
    metadata_args = as_dict(profiler_metadata.get("distributed_args"))
    return {
        "world_size": _world_size(metadata_args, profiler_metadata),
        "host": _text(profiler_metadata.get("host_name") or profiler_metadata.get("hostname")),
        "device_kind": "npu",
        "device_index": _integer(as_dict(profiler_info.get("ms_profiler_info")).get("device_id")),
        "framework": framework(profiler_info),
        "versions": _json({key: profiler_info[key] for key in _VERSIONS if profiler_info.get(key) is not None}),
        "level": level(profiler_info),
        "switches": _json(switches),
        **_coordinates(profiler_info, profiler_metadata, metadata_args),
    }


def rank_of(profiler_info: dict[str, Any]) -> int | None:
    """The rank that ``profiler_info`` states."""
    stated = profiler_info.get("rank_id", as_dict(profiler_info.get("ms_profiler_info")).get("rank_id"))
    return _integer(stated)


def framework(profiler_info: dict[str, Any]) -> str | None:
    """pytorch or mindspore, by the keys that only one of the writers has."""
    if {"ms_profiler_info", "profiler_parameters", "ms_version"} & profiler_info.keys():
        return "mindspore"
    return "pytorch" if {"config", "torch_npu_version"} & profiler_info.keys() else None


def level(profiler_info: dict[str, Any]) -> str | None:
    """Profiler level without the name of its enumeration.

    >>> level({"profiler_parameters": {"profiler_level": "ProfilerLevel.Level0"}})
    'Level0'
    """
    switches = _switches(profiler_info)
    stated = switches.get("_profiler_level", switches.get("profiler_level"))
    return None if stated is None else clean_text(str(stated).rsplit(".", maxsplit=1)[-1])


def device_columns(device: dict[str, Any]) -> dict[str, Any]:
    """Columns of ``ranks`` from an entry of ``DeviceInfo`` in msprof's ``info.json``."""
    if not device:
        return {}
    return {"compute_units": _integer(device.get("ai_core_num")), "peak_facts": _json(device)}


def clock_offset_ns(profiler_info: dict[str, Any]) -> int | None:
    """What turns the host's monotonic clock into Unix time, where the file tells."""
    end = as_dict(profiler_info.get("end_info"))
    unix, monotonic = _integer(end.get("collectionTimeEnd"), 1 << 62), _integer(end.get("MonotonicTimeEnd"), 1 << 62)
    return None if unix is None or monotonic is None else unix - monotonic


def group_id(name: str) -> str:
    """The id of a communication group: its hash, computed where ``name`` is not one already.

    >>> group_id("90.91.105.46%enp189s0f0_60000_0_1736410538306028"), group_id("17148521525495523210")
    ('17148521525495523210', '17148521525495523210')
    """
    if not name or re.fullmatch(r"\d{1,20}", name):
        return name
    high, low = (_rolling_hash(name, prime) for prime in _HASH_PRIMES)
    return str(high << 32 | low)


def parallel_groups(profiler_metadata: dict[str, Any]) -> pl.DataFrame:
    """Rows of ``groups`` that the metadata state."""
    rows = []
    for name, stated in as_dict(profiler_metadata.get("parallel_group_info")).items():
        group = as_dict(stated)
        label = _text(group.get("group_name"))
        ranks = group.get("global_ranks")
        rows.append(
            {
                "group": clean_text(group_id(str(name))),
                "name": label or clean_text(str(name)),
                "ranks": [rank for item in ranks if (rank := _integer(item)) is not None]
                if isinstance(ranks, list)
                else None,
                "dimension": dimension(label),
                "origin": "parallel_group_info",
                "confidence": "stated",
            }
        )
    schema = {
        "group": pl.String(),
        "name": pl.String(),
        "ranks": pl.List(pl.Int32),
        "dimension": pl.String(),
        "origin": pl.String(),
        "confidence": pl.String(),
    }
    return pl.DataFrame(rows, schema=schema)


def dimension(group_name: str | None) -> str | None:
    """The parallel dimension that a group's name tells; groups of several dimensions have none.

    >>> dimension("tp"), dimension("exp"), dimension("dp-0-1"), dimension("tp_dp"), dimension("default_group")
    ('tp', 'ep', 'dp', None, None)
    """
    match = re.fullmatch(r"([a-z]+)(?:-[\d-]+)?", (group_name or "").lower())
    return ascend_facts().group_dimensions.get(match[1]) if match else None


def _coordinates(
    profiler_info: dict[str, Any], profiler_metadata: dict[str, Any], distributed_args: dict[str, Any]
) -> dict[str, int | None]:
    """What the groups state; else by Megatron's order of ranks: tensor, context, data, pipeline."""
    coordinates: dict[str, int | None] = dict.fromkeys(_DIMENSIONS)
    for stated in as_dict(profiler_metadata.get("parallel_group_info")).values():
        group = as_dict(stated)
        which = dimension(_text(group.get("group_name")))
        if which is not None:
            coordinates[which] = _integer(group.get("group_rank"))
    rank = rank_of(profiler_info)
    rank = _integer(distributed_args.get("rank")) if rank is None else rank
    sizes = {which: _integer(distributed_args.get(key)) for which, key in _SIZES.items()}
    sizes["cp"] = sizes["cp"] or 1
    if rank is not None and all(sizes.values()):
        rest = rank
        for which, size in sizes.items():
            rest, coordinate = divmod(rest, size or 1)
            if coordinates[which] is None:
                coordinates[which] = coordinate
    return coordinates


def _world_size(distributed_args: dict[str, Any], profiler_metadata: dict[str, Any]) -> int | None:
    stated = _integer(distributed_args.get("world_size"))
    if stated is not None:
        return stated
    for value in as_dict(profiler_metadata.get("parallel_group_info")).values():
        group = as_dict(value)
        if group.get("group_name") in ("default_group", "hccl_world_group") and isinstance(
            group.get("global_ranks"), list
        ):
            return len(group["global_ranks"]) or None
    return None


def _switches(profiler_info: dict[str, Any]) -> dict[str, Any]:
    config = as_dict(profiler_info.get("config"))
    return {
        **as_dict(config.get("common_config")),
        **as_dict(config.get("experimental_config")),
        **as_dict(profiler_info.get("profiler_parameters")),
    }


def _further(profiler_info: dict[str, Any], profiler_metadata: dict[str, Any]) -> dict[str, Any]:
    """What else the files say and no column has: clocks, environment, what the user added."""
    known = {"config", "profiler_parameters", "rank_id", "ms_profiler_info", *_VERSIONS}
    info = {key: value for key, value in profiler_info.items() if key not in known and value not in ({}, None)}
    metadata = {key: value for key, value in profiler_metadata.items() if key != "parallel_group_info"}
    environment = {key: value for key, value in as_dict(metadata.pop("ENV_VARIABLES", None)).items() if value}
    metadata |= {"ENV_VARIABLES": environment} if environment else {}
    return info | ({"metadata": metadata} if metadata else {})


def _rolling_hash(text: str, prime: int) -> int:
    value = 0
    for character in text.encode("utf-8", "replace"):
        value = (value * prime + character) & 0xFFFFFFFF
    return value


def _text(value: Any) -> str | None:
    return None if value is None else clean_text(str(value))


def _json(value: dict[str, Any]) -> str | None:
    return clean_text(json.dumps(value, ensure_ascii=False, default=str)) if value else None


def _integer(value: Any, limit: int = _LARGEST) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < limit else None
