"""Recognises exports of Nsight Systems, and which of their processes are ranks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.source import Source, named_rank
from stepscope.readers.sqlite.opening import MAGIC, files_of, open_database
from stepscope.store.notes import Notes

READER: Final = "nsight"
KERNELS: Final = "CUPTI_ACTIVITY_KIND_KERNEL"
GRAPHS: Final = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_TELLING: Final = (KERNELS, GRAPHS, "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS")


def claim_file(path: Path, head: bytes) -> Source | None:
    """A database with the tables of an export."""
    if not head.startswith(MAGIC):
        return None
    try:
        with open_database(path, Notes(), with_log=False) as database:
            ours = "StringIds" in database.tables and any(table in database.tables for table in _TELLING)
    except UnreadableInputError:
        return None
    return Source(path, READER, named_rank(path), files_of(path)) if ours else None


def parts(source: Source) -> list[Source]:
    """One source per process that ran kernels, numbered by its devices; the file as a whole where that is but one."""
    try:
        with open_database(source.path, Notes(), with_log=False) as database:
            kernels = pl.concat(database.frame(table, ["globalPid", "deviceId"]) for table in (KERNELS, GRAPHS))
    except UnreadableInputError:
        return [source]
    by_device = kernels.group_by("globalPid").agg(pl.col("deviceId").min()).drop_nulls().sort("deviceId", "globalPid")
    processes = by_device["globalPid"].to_list()
    if len(processes) < 2:
        return [source]
    return [replace(source, rank=rank, part=process) for rank, process in enumerate(processes)]
