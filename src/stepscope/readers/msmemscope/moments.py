"""Snapshots, out-of-memory reports and device memory at the start: rows of ``memory_events`` and ``memory``."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from stepscope.readers.files.numbers import number
from stepscope.readers.msmemscope import attributes
from stepscope.store.rank_writer import RankWriter

_MOMENTS: Final = ("SNAPSHOT", "OOM_DETAIL", "CLEAN_UP")
_KINDS: Final = {"OOM_TRIGGER": "oom", "START_TRACE": "trace_start"}
# The manual and the tool name some values differently.
_VALUES: Final = {
    "size": ("req_size", "size", "allocated"),
    "free": ("free", "free_mem"),
    "total": ("total", "total_mem"),
}
_TORCH: Final = "PTA snapshot"


def write_moments(events: pl.DataFrame, file: str, out: RankWriter) -> int | None:
    """Write them; gives the device's memory in bytes if a row tells."""
    chosen = events.filter(
        pl.col("event").is_in(_MOMENTS) | ((pl.col("type") == "START_TRACE") & (pl.col("attr").str.len_bytes() > 2))
    )
    moments: list[dict[str, Any]] = []
    curve: list[dict[str, Any]] = []
    reported: list[dict[str, Any]] = []
    capacity = None
    for row in chosen.iter_rows(named=True):
        values_of = attributes.parse(row["attr"])
        sizes = {name: _first(values_of, names) for name, names in _VALUES.items()}
        moments.append(
            {
                "device": row["device"],
                "time_ns": row["time"],
                "seq": row["seq"],
                "kind": _KINDS.get(row["type"], row["type"].lower()),
                "bytes": sizes["size"] if row["event"] != "SYSTEM" else None,
                "free_bytes": sizes["free"],
                "stack": row["stack"],
            }
        )
        capacity = sizes["total"] or capacity
        if row["event"] == "SNAPSHOT":
            curve.append(
                {
                    "device": row["device"],
                    "component": _TORCH,
                    "time_ns": row["time"],
                    "allocated": _first(values_of, ("allocated",)),
                    "reserved": _first(values_of, ("reserved",)),
                }
            )
            values = {metric: number(text) for metric, text in values_of.items()}
            reported += [
                {"file": file, "key": row["name"] or "Memory Snapshot", "metric": metric, "value": value}
                for metric, value in values.items()
                if value is not None
            ]
    whole = {"bytes": pl.Int64, "free_bytes": pl.Int64, "stack": pl.UInt32, "device": pl.String}
    out.add("memory_events", pl.DataFrame(moments, schema_overrides=whole, infer_schema_length=None))
    whole = {"allocated": pl.Int64, "reserved": pl.Int64, "device": pl.String}
    out.add("memory", pl.DataFrame(curve, schema_overrides=whole, infer_schema_length=None))
    out.add("reported", pl.DataFrame(reported, infer_schema_length=None))
    return capacity


def _first(values_of: dict[str, str], names: tuple[str, ...]) -> int | None:
    for name in names:
        text = values_of.get(name, "").strip()
        if text.isdecimal() and len(text) < 19:
            return int(text)
    return None
