"""Dumps of msMemScope, formerly msleaks: csv and database, with Python traces beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.raw_bytes import head
from stepscope.readers.files.reading import Reading
from stepscope.readers.msmemscope.block_lives import curves, lives
from stepscope.readers.msmemscope.capture import CONFIG, claim, claim_file, is_trace
from stepscope.readers.msmemscope.dump_events import DumpEvents
from stepscope.readers.msmemscope.dump_file import DUMP_COLUMNS, SQLITE_MAGIC, rows
from stepscope.readers.msmemscope.marked_steps import marked_steps
from stepscope.readers.msmemscope.moments import write_moments
from stepscope.readers.msmemscope.python_trace import functions
from stepscope.readers.msmemscope.timeline import DumpTimeline
from stepscope.readers.msmemscope.vendor_remarks import remark, reported
from stepscope.store.notes import Notes

__all__ = ["claim", "claim_file", "read"]

_LARGEST_CONFIG: Final = 1 << 20
_NPU: Final = re.compile(r"^npu:(\d+)$")


def read(reading: Reading) -> None:
    """Read the dumps of one device as one rank."""
    file = reading.source.path.name
    events, timeline = DumpEvents(), DumpTimeline(reading.notes, file)
    dumps, traces = _by_content(reading.source, reading.notes)
    for path in dumps:
        for batch in rows(path, DUMP_COLUMNS, reading):
            events.add(batch, reading.notes, path.name)
    seen = events.rows  # rows are numbered through all files, dumps first
    for path in traces:
        for batch in functions(path, seen, reading.unobserved() if path in dumps else reading):
            timeline.add_functions(batch)
            seen += batch.height
    if not seen:
        raise UnreadableInputError("no_events", path=str(reading.source.path))
    blocks, others = events.in_order(reading.notes, file)
    timeline.add_events(others)
    slices = timeline.finish()
    real = blocks.filter(pl.col("shadow").is_null())
    moments = pl.concat([real["time"], others["time"], pl.Series(slices.start), pl.Series(slices.end)])
    window = (_integer_or_zero(moments.min()), _integer_or_zero(moments.max()))
    steps, incomplete = marked_steps(others, slices, window)
    reading.notes.add("msmemscope_without_steps", file=file, count=int(not len(steps.number)))
    slices.integers["step"] = steps.at(slices.start)
    timeline.write(reading.out)
    reading.out.add("steps", steps.frame().with_columns(incomplete=pl.Series(incomplete)))
    reading.out.add("stacks", events.stacks.frame())
    blocks = blocks.with_columns(operator=timeline.operators(blocks["pid"], blocks["tid"], blocks["time"]))
    allocations = lives(blocks, window[1], reading.notes, file)
    reading.out.add("allocations", allocations.drop("lost_ns", "lost_seq"))
    reading.out.add("memory", curves(blocks, allocations))
    reading.out.add("reported", reported(blocks, file))
    remark(blocks, reading.notes, file)
    capacity = write_moments(others, file, reading.out)
    identity = {
        "memory_capacity": capacity,
        "first_ns": window[0],
        "last_ns": window[1],
        "source": str(reading.source.path),
    }
    reading.out.add("ranks", pl.DataFrame([_identity(reading.source, blocks, others, reading.notes) | identity]))


def _by_content(source: Source, notes: Notes) -> tuple[list[Path], list[Path]]:
    """Files with dump rows, and files with Python traces; a database may hold both."""
    dumps: list[Path] = []
    traces: list[Path] = []
    for path in source.files:
        if path.name == CONFIG or path.name.endswith("-wal"):
            continue
        first = head(path)
        if not first:
            notes.add("msmemscope_file_empty", file=path.name)
        elif first.startswith(SQLITE_MAGIC):
            dumps.append(path)
            traces.append(path)
        else:
            (traces if is_trace(first) else dumps).append(path)
    return dumps, traces


def _identity(source: Source, blocks: pl.DataFrame, others: pl.DataFrame, notes: Notes) -> dict[str, Any]:
    """Device, framework and switches."""
    devices = {*blocks["device"].unique().to_list(), *others["device"].unique().to_list()}
    numbers = sorted(int(match[1]) for device in devices if device and (match := _NPU.match(device)))
    pools = set(blocks["type"].unique().to_list())
    operators = set(others["type"].unique().to_list())
    framework = "mindspore" if "MINDSPORE" in pools else None
    if {"PTA", "PTA_WORKSPACE"} & pools or "ATEN_START" in operators:
        framework = "pytorch"
    return {
        "device_kind": "npu" if numbers else "cpu",
        "device_index": numbers[0] if len(numbers) == 1 else source.rank,
        "framework": framework,
        "switches": _switches(source, notes),
        "clock_base_ns": 0,
    }


def _switches(source: Source, notes: Notes) -> str | None:
    """The tool's own configuration, if it lies there."""
    for path in source.files:
        if path.name == CONFIG and path.stat().st_size <= _LARGEST_CONFIG:
            try:
                return json.dumps(json.loads(path.read_text("utf-8", "replace")), ensure_ascii=True)
            except (ValueError, OSError, RecursionError):
                notes.add("msmemscope_config_unreadable", file=path.name)
    return None


def _integer_or_zero(moment: object) -> int:
    return moment if isinstance(moment, int) else 0
