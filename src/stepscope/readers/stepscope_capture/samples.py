"""Use of processors and memory as our samplers wrote them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

import polars as pl

from stepscope.layout import names
from stepscope.readers.files.reading import Reading
from stepscope.readers.stepscope_capture.line_files import read_lines

_CPU: Final = (
    {"time_ns": pl.Int64, "scope": pl.String, "id": pl.Int64}
    | dict.fromkeys(("user", "system", "io", "idle", "waiting"), pl.Float64)
    | dict.fromkeys(("runnable", "context_switches", "dur_ns"), pl.Int64)
)
_MEMORY: Final = {"time_ns": pl.Int64, "device": pl.String, "component": pl.String} | dict.fromkeys(
    ("allocated", "reserved", "active"), pl.Int64
)


def read_samples(raw: Path, reading: Reading, known_devices: Collection[str] = ()) -> None:
    """Rows of ``cpu`` and ``memory``; of an accelerator in ``known_devices`` a finer curve is there already."""
    cpu = read_lines(raw / names.CPU_FILE, _CPU, ("time_ns", "scope"), reading)
    reading.out.add("cpu", cpu.with_columns(id=pl.when(pl.col("scope") != "machine").then("id")).sort("time_ns"))
    memory = read_lines(raw / names.MEMORY_FILE, _MEMORY, ("time_ns", "component"), reading)
    finer = pl.col("device").is_in([device for device in known_devices if device != "cpu"])
    reading.out.add("memory", memory.filter(~finer).sort("time_ns"))
