"""Who recorded a Kineto trace: rank, host, device, versions, switches and process groups."""

from __future__ import annotations

import decimal
import json
import re
from typing import Any, Final

import polars as pl

from stepscope.readers.files.json_values import as_list, as_text
from stepscope.store.notes import Notes

_SWITCHES: Final = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
_VERSION: Final = re.compile(r"_version$|^PT_PROFILER_JOB")
_MOST_DIGITS: Final = 20
_LOGS: Final = ("INFO", "WARNING", "ERROR")


def base_ns(metadata: dict[str, Any]) -> int:
    """What the file's times are relative to, in ns since 1970; 0 where they are absolute."""
    return integer(metadata.get("baseTimeNanoseconds")) or 0


def rank_row(metadata: dict[str, Any], devices_used: list[int], source: str) -> dict[str, Any]:
    """Columns of ``ranks`` that the metadata tell; ``devices_used`` are the device numbers with slices."""
    properties = [item for item in as_list(metadata.get("deviceProperties")) if isinstance(item, dict)]
    device = next(
        (item for item in properties if item.get("id") in devices_used),
        properties[0] if properties and devices_used else {},
    )
    index = next(iter(devices_used), None)
    if len(properties) == 1 and devices_used and device.get("id", index) not in devices_used:
        index = device["id"]  # processes that are not numbered after devices, as in merged files
    kind = "cpu" if not devices_used else "xpu" if "maxComputeUnits" in device else "gpu"
    return {
        "world_size": integer(_distributed(metadata).get("world_size"), 31),
        "host": as_text(metadata.get("host_name")),
        "device_kind": kind,
        "device_name": as_text(device.get("name")),
        "device_index": integer(index, 31),
        "memory_capacity": integer(device.get("totalGlobalMem")),
        "compute_units": integer(device.get("numSms"), 31),
        "peak_facts": json.dumps(device, default=str) if device else None,
        "framework": "pytorch",
        "versions": json.dumps({key: value for key, value in metadata.items() if _VERSION.search(key)}, default=str),
        "switches": json.dumps({key: True for key in _SWITCHES if metadata.get(key)}),
        "clock_base_ns": base_ns(metadata),
        "source": source,
        "host_memory_relative": True,  # PyTorch counts the host's memory from the start of the profiler
    }


def groups(metadata: dict[str, Any]) -> pl.DataFrame:
    """Process groups that the metadata state."""
    rows = []
    for group in as_list(_distributed(metadata).get("pg_config")):
        if isinstance(group, dict) and group.get("pg_name") is not None:
            rows.append(
                {
                    "group": str(group["pg_name"]),
                    "name": as_text(group.get("pg_desc")),
                    "ranks": rank_list(group.get("ranks")),
                    "origin": "distributedInfo",
                }
            )
    return group_rows(rows)


def group_rows(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows of ``groups``."""
    schema = {"group": pl.String(), "name": pl.String(), "ranks": pl.List(pl.Int32), "origin": pl.String()}
    return pl.DataFrame(rows, schema=schema).with_columns(confidence=pl.lit("stated"))


def rank_list(value: Any) -> list[int] | None:
    """Ranks from a list, or from the text of one; None if it was cut short with dots.

    >>> rank_list("[0, 1]"), rank_list([2, 3]), rank_list("[0, 1, ...]")
    ([0, 1], [2, 3], None)
    """
    if isinstance(value, str):
        if "..." in value:
            return None
        value = re.findall(r"\d+", value)
    return [number for item in as_list(value) if (number := integer(item, 31)) is not None]


def note_profiler_log(metadata: dict[str, Any], notes: Notes, file: str) -> None:
    """The profiler's own warnings are worth a user's time."""
    for level in _LOGS[1:]:
        for line in as_list(metadata.get(level)):
            notes.add("profiler_log", file=file, level=level, line=str(line)[:500])


def _distributed(metadata: dict[str, Any]) -> dict[str, Any]:
    info = metadata.get("distributedInfo")
    return info if isinstance(info, dict) else {}


def integer(value: Any, bits: int = 62) -> int | None:
    """An integer of at most so many bits, from a number or its text."""
    if isinstance(value, decimal.Decimal) and not (value.is_finite() and value.adjusted() < _MOST_DIGITS):
        return None  # 1e999999999 would become an integer of a gigabyte
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < 1 << bits else None
