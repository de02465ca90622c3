"""``communication.json`` and ``communication_matrix.json``: calls and links by step."""

from __future__ import annotations

import zlib
from collections import defaultdict
from typing import Any

import polars as pl

from stepscope.deliver.capture_directory.rank_data import RankData

_MB = 1e6
_POINT_TO_POINT = {"send", "receive", "send_receive"}
_TRANSPORTS = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")


def communication(data: RankData) -> dict[str, Any] | None:
    """Per step, class and call: its times. What no source carries (transit, wait) counts as idle, as documented:
    idle = elapse − transit − wait."""
    calls = data.scan("collectives").sort("start_ns").collect()
    if calls.is_empty():
        return None
    found: dict[str, Any] = {}
    numbers: dict[tuple[str, str], int] = defaultdict(int)
    for call in calls.iter_rows(named=True):
        step = _step(call["step"])
        kind = "p2p" if call["kind"] in _POINT_TO_POINT else "collective"
        classes = found.setdefault(step, {"p2p": {}, "collective": {}})
        classes[kind][_key(call, numbers)] = _call(call)
    for classes in found.values():
        for entries in classes.values():
            if entries:
                entries["Total Op Info"] = _total(list(entries.values()))
    return found


def _step(step: int | None) -> str:
    return "step" if step is None else f"step{step}"


def _key(call: dict[str, Any], numbers: dict[tuple[str, str], int]) -> str:
    """The call's name, in the documented form where it is not one: the same on all ranks of the group."""
    group = str(call["group"] or "default")
    name = str(call["name"])
    if name.startswith("hcom_"):
        return name if "@" in name else f"{name}@{group}"
    kind = "".join(word.capitalize() for word in str(call["kind"] or name).split("_"))
    kind = kind[:1].lower() + kind[1:]
    number = numbers[group, kind]
    numbers[group, kind] += 1
    suffix = f"{zlib.crc32(group.encode()) % 1000:03d}"  # the same in every process, unlike hash()
    return f"hcom_{kind}__{suffix}_{number}_1@{group}"


def _call(call: dict[str, Any]) -> dict[str, Any]:
    elapse = call["end_ns"] - call["start_ns"]
    transit, wait = call["transit_ns"] or 0, call["wait_ns"] or 0
    sync = call["sync_ns"] or 0
    return {
        "Communication Time Info": {
            "Start Timestamp(us)": call["start_ns"] / 1000,
            **_times(elapse, transit, wait, sync, elapse - transit - wait),
        },
        "Communication Bandwidth Info": {
            transport: {
                "Transit Size(MB)": 0,
                "Transit Time(ms)": 0,
                "Bandwidth(GB/s)": 0,
                "Large Packet Ratio": 0,
                "Size Distribution": {},
            }
            for transport in _TRANSPORTS
        },
    }


def _times(elapse: float, transit: float, wait: float, sync: float, idle: float) -> dict[str, float]:
    return {
        "Elapse Time(ms)": elapse / 1e6,
        "Transit Time(ms)": transit / 1e6,
        "Wait Time(ms)": wait / 1e6,
        "Synchronization Time(ms)": sync / 1e6,
        "Idle Time(ms)": idle / 1e6,
        "Wait Time Ratio": round(wait / (wait + transit), 4) if wait + transit else 0,
        "Synchronization Time Ratio": round(sync / (sync + transit), 4) if sync + transit else 0,
    }


def _total(calls: list[dict[str, Any]]) -> dict[str, Any]:
    sums = {
        name: sum(call["Communication Time Info"][name] for call in calls) * 1e6
        for name in (
            "Elapse Time(ms)",
            "Transit Time(ms)",
            "Wait Time(ms)",
            "Synchronization Time(ms)",
            "Idle Time(ms)",
        )
    }
    return {
        "Communication Time Info": _times(*sums.values()),
        "Communication Bandwidth Info": {
            transport: {"Transit Size(MB)": 0, "Transit Time(ms)": 0, "Size Distribution": {}}
            for transport in _TRANSPORTS
        },
    }


def communication_matrix(data: RankData) -> dict[str, Any] | None:
    """Links by step, only where the capture has transfers between ranks."""
    rows = (
        data.scan("transfers")
        .filter(pl.col("kind").cast(pl.String).is_in(["payload", "reduce"]) & pl.col("peer").is_not_null())
        .group_by("step", "group", "peer", "transport")
        .agg(pl.col("bytes").sum(), pl.col("time_ns").sum())
        .sort("step", "group", "peer")
        .collect()
    )
    if rows.is_empty():
        return None
    found: dict[str, Any] = {}
    for row in rows.iter_rows(named=True):
        classes = found.setdefault(_step(row["step"]), {"p2p": {}, "collective": {}})
        links = classes["collective"].setdefault(f"total@{row['group'] or 'default'}", {})
        milliseconds, megabytes = row["time_ns"] / 1e6, row["bytes"] / _MB
        links[f"{data.rank}-{row['peer']}"] = {
            "Transport Type": str(row["transport"] or "LOCAL"),
            "Transit Size(MB)": megabytes,
            "Transit Time(ms)": milliseconds,
            "Bandwidth(GB/s)": round(megabytes / milliseconds, 4) if milliseconds else 0,
        }
    return found
