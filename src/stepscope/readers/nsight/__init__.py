"""Exports of Nsight Systems: ``nsys export --type sqlite``. One file may hold several ranks, a process each."""

from __future__ import annotations

from typing import Any

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.files.reading import Reading
from stepscope.readers.nsight.recognition import claim_file, parts
from stepscope.readers.nsight.tables import read_tables
from stepscope.readers.reader import claims_no_directory as claim
from stepscope.readers.slices.table_timeline import timeline_of_rows, write_timeline
from stepscope.readers.sqlite.database import Database
from stepscope.readers.sqlite.opening import open_database

__all__ = ["claim", "claim_file", "parts", "read"]


def read(reading: Reading) -> None:
    """Read what one process did into the tables of its rank."""
    path = reading.source.path
    with open_database(path, reading.notes) as database:
        tables = read_tables(database, reading.source.part, reading.notes, path.name)
        about = _rank_row(database, tables.devices) | {"clock_base_ns": tables.base_ns, "source": str(path)}
    timeline = timeline_of_rows(tables.rows, tables.base_ns, reading.notes, path.name)
    if not len(timeline.slices):
        raise UnreadableInputError("no_events", path=str(path))
    write_timeline(timeline, about, reading)
    reading.out.add("tracks", tables.tracks.frame())
    reading.took(reading.source.bytes)


def _rank_row(database: Database, devices: list[int]) -> dict[str, Any]:
    system = database.frame("TARGET_INFO_SYSTEM_ENV", texts=["name", "value"])
    host = system.filter(pl.col("name") == "Hostname")["value"]
    gpus = database.frame("TARGET_INFO_GPU", ["id", "totalMemory", "smCount"], texts=["name"])
    gpu = gpus.filter(pl.col("id") == (devices[0] if devices else -1)).to_dicts()
    versions = database.frame("META_DATA_EXPORT", texts=["name", "value"])
    version = versions.filter(pl.col("name") == "EXPORT_PRODUCT_VERSION")["value"]
    return {
        "host": host[0] if len(host) else None,
        "device_kind": "gpu" if devices else "cpu",
        "device_index": devices[0] if devices else None,
        "device_name": gpu[0]["name"] if gpu else None,
        "memory_capacity": gpu[0]["totalMemory"] if gpu else None,
        "compute_units": gpu[0]["smCount"] if gpu else None,
        "versions": f'{{"nsys": "{version[0]}"}}' if len(version) else None,
    }
