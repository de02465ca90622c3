"""Who recorded a database: rank, device, host, versions and groups, from its own tables and the files beside it."""

from __future__ import annotations

import json
from typing import Any, Final

from stepscope.readers.ascend.identity import device_columns, parallel_groups, rank_columns
from stepscope.readers.sqlite.database import Database
from stepscope.store.notes import Notes

__all__ = ["chip_columns", "metadata_of", "parallel_groups", "rank_columns", "rank_row"]

_MOST_ROWS: Final = 10_000
_DOCUMENTS: Final = ("distributed_args", "parallel_group_info", "ENV_VARIABLES", "pp_info")


def metadata_of(database: Database, beside: dict[str, Any]) -> dict[str, Any]:
    """What the job told the profiler: the rows of ``META_DATA``, under the keys that the file beside them has."""
    metadata: dict[str, Any] = {}
    for name, value in database.frame("META_DATA", texts=["name", "value"]).head(_MOST_ROWS).iter_rows():
        if name is not None:
            metadata[name] = _decoded(value) if name in _DOCUMENTS else value
    return metadata | beside


def rank_row(
    database: Database, info: dict[str, Any], metadata: dict[str, Any], used: list[int], notes: Notes
) -> dict[str, Any]:
    """Columns of ``ranks``. ``used`` are the device numbers that tasks carry."""
    row = rank_columns(info, metadata)
    listed = database.frame("RANK_DEVICE_MAP", ["rankId", "deviceId"])["deviceId"].drop_nulls().to_list()
    device = used[0] if used else next(iter(listed), row["device_index"])
    if used and listed and not set(used) & set(listed):
        notes.add("db_device_disagrees", file=database.file, mapped=listed[0], used=used[0])
    if len(used) > 1:
        notes.add("db_several_devices", file=database.file, count=len(used))
    names = dict(database.frame("NPU_INFO", ["id"], texts=["name"]).head(_MOST_ROWS).iter_rows())
    hosts = database.frame("HOST_INFO", texts=["hostUid", "hostName"]).head(1).to_dicts()
    host = hosts[0] if hosts else {}
    session = database.frame("SESSION_TIME_INFO", ["startTimeNs|baseTimeNs", "endTimeNs"]).head(1).to_dicts()
    versions = _decoded(row["versions"]) or {}
    if metadata.get("SCHEMA_VERSION"):
        versions["database_schema"] = metadata["SCHEMA_VERSION"]
    switches = _decoded(row["switches"]) or {}
    switches |= {"session": session[0]} if session else {}
    switches |= {"host_uid": host["hostUid"]} if host.get("hostUid") else {}
    variables = metadata.get("ENV_VARIABLES")
    if isinstance(variables, dict) and any(variables.values()):
        switches["environment"] = {name: value for name, value in variables.items() if value}
    return row | {
        "host": host.get("hostName") or row["host"],
        "device_index": device if device is not None and 0 <= device < 1 << 31 else None,
        "device_name": names.get(device) or next(iter(names.values()), None),
        "versions": json.dumps(versions, default=str) if versions else None,
        "switches": json.dumps(switches, default=str) if switches else None,
    }


def chip_columns(info: dict[str, Any]) -> dict[str, Any]:
    """Columns of ``ranks`` from what msprof noted about its device."""
    devices = info.get("DeviceInfo")
    device = devices[0] if isinstance(devices, list) and devices and isinstance(devices[0], dict) else {}
    return device_columns(device)


def _decoded(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
