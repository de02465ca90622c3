"""Exports of Nsight Systems: ``nsys export --type sqlite``. One file may hold several ranks, a process each."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from stepscope.arrays import NONE, Bools, Int64s
from stepscope.errors import UnreadableInputError
from stepscope.readers.ascend.database import Database
from stepscope.readers.ascend.sqlite_file import open_database
from stepscope.readers.files.reading import Reading
from stepscope.readers.nsight.recognition import claim_file, parts
from stepscope.readers.nsight.tables import Tables, read_tables
from stepscope.readers.reader import claims_no_directory as claim
from stepscope.readers.slices import pytorch
from stepscope.readers.slices.collective_names import collective_kind
from stepscope.readers.slices.kernel_types import kernel_types
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.slices.step_of_slices import step_of_slices
from stepscope.readers.slices.steps import Steps, extent, told_apart, whole_window, with_device_work
from stepscope.readers.trace_json.event_columns import nullable
from stepscope.store.nesting import nearest

__all__ = ["claim", "claim_file", "parts", "read"]


def read(reading: Reading) -> None:
    """Read what one process did into the tables of its rank."""
    path = reading.source.path
    with open_database(path, reading.notes) as database:
        tables = read_tables(database, reading.source.part, reading.notes)
        about = _rank_row(database, tables, reading)
    slices = tables.slices
    if not len(slices):
        raise UnreadableInputError("no_events", path=str(path))
    launch = _launches(tables)
    _write_launches(slices, launch, reading)
    operator = np.append(nearest(slices.parent, slices.is_kind("operator")), NONE)[launch]
    phase = pytorch.phases(slices, launch)
    steps = told_apart(tables.steps, reading.notes, path.name)
    if not len(steps.number):
        steps = whole_window(slices, reading.notes, path.name, launch)
    step = step_of_slices(steps, slices, launch, tables.device_work)
    _write_steps(steps, tables, step, phase, operator, reading)
    slices.integers |= {"step": step, "correlation": tables.correlation}
    slices.texts |= {
        "phase": (phase, list(pytorch.PHASES)),
        "operator": (np.where(operator == NONE, -1, slices.name[operator]), slices.names.texts()),
        "core": (np.where(tables.device_work, 0, -1), ["GPU"]),
        "type": kernel_types(slices, tables.device_work),
    }
    reading.out.add("collectives", _collectives(slices, step))
    slices.write(reading.out)
    reading.out.add("tracks", tables.tracks.frame())
    first, last = extent(slices)
    reading.out.add("ranks", pl.DataFrame([about | {"first_ns": first, "last_ns": last}]))
    reading.took(reading.source.bytes)


def _launches(tables: Tables) -> Int64s:
    """For each slice of a device the position of the call with its correlation, else NONE."""
    slices, correlation = tables.slices, tables.correlation
    calls = np.flatnonzero(slices.is_kind("runtime"))
    calls = calls[np.lexsort((slices.start[calls], correlation[calls]))]
    ids = correlation[calls]
    launch = np.full(len(slices), NONE, np.int64)
    if len(ids):
        work = np.flatnonzero(tables.device_work)
        index = np.minimum(np.searchsorted(ids, correlation[work]), len(ids) - 1)
        fits = ids[index] == correlation[work]
        launch[work[fits]] = calls[index[fits]]
    return launch


def _write_launches(slices: SliceTable, launch: Int64s, reading: Reading) -> None:
    launched = np.flatnonzero(launch != NONE)
    kind = pl.Series(["launch"] * len(launched), dtype=pl.String)
    ids = {"from_slice": slices.id[launch[launched]], "to_slice": slices.id[launched]}
    reading.out.add("links", pl.DataFrame({"kind": kind, **ids}))


def _write_steps(
    steps: Steps, tables: Tables, step: Int64s, phase: np.ndarray[Any, Any], operator: Int64s, reading: Reading
) -> None:
    forward: Bools = phase == pytorch.FORWARD
    backward: Bools = phase == pytorch.BACKWARD
    rows = with_device_work(steps, tables.slices, step, tables.device_work, forward, backward, operator)
    reading.out.add("steps", rows)


def _collectives(slices: SliceTable, step: Int64s) -> pl.DataFrame:
    """Kernels that communicate. Groups and sizes stand in blobs that exports leave out by default."""
    calls = np.flatnonzero(slices.is_kind("collective"))
    words = slices.names.texts()
    names = [words[code] or "" for code in slices.name[calls].tolist()]
    return pl.DataFrame(
        {
            "slice": slices.id[calls],
            "kind": [collective_kind(name) for name in names],
            "name": names,
            "start_ns": slices.start[calls],
            "end_ns": slices.end[calls],
        },
        schema_overrides={"kind": pl.String, "name": pl.String},
    ).with_columns(step=nullable(step[calls]), stream=nullable(slices.integers["stream"][calls]))


def _rank_row(database: Database, tables: Tables, reading: Reading) -> dict[str, Any]:
    system = database.frame("TARGET_INFO_SYSTEM_ENV", texts=["name", "value"])
    host = system.filter(pl.col("name") == "Hostname")["value"]
    gpus = database.frame("TARGET_INFO_GPU", ["id", "totalMemory", "smCount"], texts=["name"])
    gpu = gpus.filter(pl.col("id") == (tables.devices[0] if tables.devices else -1)).to_dicts()
    versions = database.frame("META_DATA_EXPORT", texts=["name", "value"])
    version = versions.filter(pl.col("name") == "EXPORT_PRODUCT_VERSION")["value"]
    return {
        "host": host[0] if len(host) else None,
        "device_kind": "gpu" if tables.devices else "cpu",
        "device_index": tables.devices[0] if tables.devices else None,
        "device_name": gpu[0]["name"] if gpu else None,
        "memory_capacity": gpu[0]["totalMemory"] if gpu else None,
        "compute_units": gpu[0]["smCount"] if gpu else None,
        "framework": "pytorch" if tables.slices.is_kind("operator").any() else None,
        "versions": f'{{"nsys": "{version[0]}"}}' if len(version) else None,
        "clock_base_ns": tables.base_ns,
        "source": str(reading.source.path),
    }
