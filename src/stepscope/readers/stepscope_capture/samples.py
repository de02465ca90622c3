"""Use of processors and memory as our samplers wrote them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

import polars as pl

from stepscope.layout import names
from stepscope.readers.files.text_files import OnRead
from stepscope.readers.stepscope_capture.line_files import read_lines
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

_CPU: Final = (
    {"time_ns": pl.Int64, "scope": pl.String, "id": pl.Int64}
    | dict.fromkeys(("user", "system", "io", "idle"), pl.Float64)
    | dict.fromkeys(("runnable", "context_switches", "dur_ns"), pl.Int64)
)
_MEMORY: Final = {"time_ns": pl.Int64, "device": pl.String, "component": pl.String} | dict.fromkeys(
    ("allocated", "reserved", "active"), pl.Int64
)


def read_samples(
    raw: Path, out: RankWriter, notes: Notes, on_read: OnRead = None, known_devices: Collection[str] = ()
) -> None:
    """Rows of ``cpu`` and ``memory``; of an accelerator in ``known_devices`` a finer curve is there already."""
    cpu = read_lines(raw / names.CPU_FILE, _CPU, ("time_ns", "scope"), notes, on_read)
    out.add("cpu", cpu.with_columns(id=pl.when(pl.col("scope") != "machine").then("id")).sort("time_ns"))
    memory = read_lines(raw / names.MEMORY_FILE, _MEMORY, ("time_ns", "component"), notes, on_read)
    finer = pl.col("device").is_in([device for device in known_devices if device != "cpu"])
    out.add("memory", memory.filter(~finer).sort("time_ns"))
