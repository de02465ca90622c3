"""Chrome traces that the vendor puts together: ``ascend_timeline_display`` and ``gpu_timeline_display``.

Their times are floats relative to the earliest event, so operators and AI CPU kernels are taken from the exact files
where these exist, and the events here count as copies of them. What stands only here (steps, scopes, overlap tracks,
activities) becomes slices. The tables of processes and threads are in ``facts/mindinsight.toml``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import NULL
from stepscope.errors import UnreadableInputError
from stepscope.facts.mindinsight import Row, mindinsight_facts
from stepscope.readers.ascend.device_tasks import collective_kind
from stepscope.readers.files.exact_time import nanoseconds
from stepscope.readers.files.numbers import integer
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.repair import clean_text
from stepscope.readers.mindinsight.operators import describe
from stepscope.readers.mindinsight.step_trace import Step, StepTrace
from stepscope.readers.mindspore_cpu.scopes import module, phase
from stepscope.readers.slices.slice_parts import SliceParts
from stepscope.readers.trace_json.event_columns import arguments
from stepscope.readers.trace_json.trace_event import Event
from stepscope.readers.trace_json.trace_text import TraceText
from stepscope.store.notes import Notes

_NO_NUMBER: Final = b"null"
_STREAM_PREFIX: Final = "Stream #"
_AI_CPU: Final = "9000"
_COMMUNICATION: Final = "10000"
_SCHEMA: Final = {
    "process": pl.String,
    "thread": pl.String,
    "name": pl.String,
    "start_ns": pl.Int64,
    "dur_ns": pl.Int64,
    "type": pl.String,
    "operator": pl.String,
    "input_shapes": pl.String,
    "output_shapes": pl.String,
    "dtypes": pl.String,
    "formats": pl.String,
    "json": pl.String,
}


@dataclass
class Known:
    """What is already read from exact files: starts of operators and of AI CPU kernels, and which others are known."""

    tasks: list[int] = field(default_factory=list)
    aicpu: list[int] = field(default_factory=list)
    calls: bool = False
    activities: bool = False
    gpu_operators: bool = False
    host_operators: bool = False


@dataclass(frozen=True)
class Display:
    """The complete events of a file."""

    rows: pl.DataFrame
    file: str
    is_gpu: bool


def read_display(path: Path, is_gpu: bool, reading: Reading) -> Display:
    """All complete events; empty, with a note, if the file is no trace."""
    frames = []
    names: dict[tuple[str, str], str] = {}
    try:
        for events in TraceText(path, reading.notes, reading.on_read).batches():
            complete = [event for event in events if event.ph == "X"]
            for number, event in enumerate(events):
                if event.ph == "M" and event.name == "thread_name":
                    names[str(event.pid), str(event.tid)] = str(arguments(event.args).get("name", ""))
                elif event.ph is None:
                    reading.notes.add("event_without_phase", file=path.name, place=f"event {number}")
                elif event.ph not in ("X", "M"):
                    reading.notes.add(
                        "event_phase_ignored", file=path.name, place=f"event {number}", phase=event.ph[:20]
                    )
            frames.append(_rows(complete))
    except UnreadableInputError as error:
        reading.notes.add("mindspore_file_unreadable", file=path.name, **error.as_reason())
    if not frames:
        return Display(pl.DataFrame(schema=_SCHEMA), path.name, is_gpu)
    rows = pl.concat(frames)
    labels = [names.get(pair, pair[1]) for pair in rows.select("process", "thread").iter_rows()]
    return Display(rows.with_columns(thread=pl.Series(labels, dtype=pl.String)), path.name, is_gpu)


def add_display(display: Display, known: Known, trace: StepTrace, parts: SliceParts, notes: Notes) -> None:
    """Slices of all events that no exact file has; the vendor's own tracks are of kind ``reported``."""
    if display.rows.is_empty():
        return
    file, gpu = display.file, display.is_gpu
    rows = _classified(display.rows, gpu)
    ai_cpu = pl.col("process") == _AI_CPU
    core_ops = (pl.col("kind") == "kernel") & ~ai_cpu
    host = (pl.col("kind") == "operator") & (pl.col("core") == "HOST_CPU")
    gpu_ops = (pl.col("kind") == "operator") & ~host
    copies = (
        (core_ops & (known.activities if gpu else bool(known.tasks)))
        | (ai_cpu & bool(known.aicpu))
        | (host & known.host_operators)
        | (gpu_ops & known.gpu_operators)
    )
    base = _base_ns(rows, known, trace, core_ops, ai_cpu)
    others = rows.filter(~copies)
    notes.add("timeline_copies", file=file, count=rows.height - others.height)
    if base is None and others.height and not gpu:
        notes.add("timeline_relative_clock", file=file, count=others.height)
    if known.calls:
        # The step trace has these calls already, with exact times.
        calls = pl.col("process") == _COMMUNICATION
        notes.add("timeline_copies", file=file, count=others.filter(calls).height)
        others = others.with_columns(kind=pl.when(calls).then(pl.lit("reported")).otherwise("kind"))
    tracks = {
        row: parts.tracks.track(row[0], row[1], row[2], row[3])
        for row in others.select("track_kind", "label", "owner", "thread").unique(maintain_order=True).iter_rows()
    }
    work = pl.col("kind").is_in(["kernel", "operator", "collective"])
    others = others.with_columns(scope=pl.coalesce("operator", "name"))
    numbers = [tracks[row] for row in others.select("track_kind", "label", "owner", "thread").iter_rows()]
    parts.add(
        others.with_columns(
            pl.col("start_ns") + (base or 0),
            pl.Series("track", numbers, dtype=pl.Int32),
            pl.when(pl.col("track_kind") == "stream")
            .then(pl.col("thread").str.strip_prefix(_STREAM_PREFIX).cast(pl.Int64, strict=False))
            .alias("stream"),
            module=pl.when(work).then(module("scope")),
            phase=pl.when(work).then(phase("scope")),
        ),
        file,
    )
    if not trace.steps:
        _add_steps(others, base or 0, trace, file)


def _rows(events: list[Event]) -> pl.DataFrame:
    start = nanoseconds([event.ts or _NO_NUMBER for event in events])
    dur = nanoseconds([event.dur or _NO_NUMBER for event in events])
    rows: list[dict[str, Any]] = []
    for event in events:
        own = arguments(event.args)
        operator = own.get("fullname") or own.get("op_full_name")
        rows.append(
            {
                "process": str(event.pid),
                "thread": clean_text(str(event.tid)),
                "name": event.name or "",
                "type": clean_text(str(own["type"])) if own.get("type") is not None else None,
                "operator": clean_text(str(operator)) if operator is not None else None,
                "json": str(event.args, "utf-8", "replace") if own else None,
                **describe(own),
            }
        )
    frame = pl.DataFrame(rows, schema={name: kind for name, kind in _SCHEMA.items() if not name.endswith("_ns")})
    times = {
        name: pl.Series(np.where(values == NULL, 0, values)).set(pl.Series(values == NULL), None)
        for name, values in (("start_ns", start), ("dur_ns", dur))
    }
    return frame.with_columns(**times).select(*_SCHEMA)


def _classified(rows: pl.DataFrame, gpu: bool) -> pl.DataFrame:
    """With kind, core, and what names the track of each event: its kind, label and owner."""
    tables = mindinsight_facts().timeline
    pairs = rows.select("process", "thread").unique(maintain_order=True)
    tracks = []
    for process, thread in pairs.iter_rows():
        whole = tables.processes.get(process)
        row = tables.threads.get(thread)
        stream = Row("kernel", f"Stream {thread.removeprefix(_STREAM_PREFIX)}", "stream")
        device = Row("kernel", "GPU" if gpu else "Device", "stream", core="GPU" if gpu else "AI_CORE")
        on_host = row is not None and row.track == "host"
        kind = (row or whole or stream).kind if whole is None or whole.kind != "reported" else "reported"
        tracks.append(
            {
                "process": process,
                "thread": thread,
                "kind": kind,
                "core": _core(whole or device, kind, on_host),
                "track_kind": (row or whole or stream).track,
                "label": (row or stream).name if row or whole is None else f"{whole.name} {thread}",
                "owner": (whole or device).name,
            }
        )
    classified = rows.join(pl.DataFrame(tracks), on=["process", "thread"], how="left", maintain_order="left")
    types = [
        collective_kind(name) if kind == "collective" else kind_of
        for name, kind, kind_of in classified.select("name", "kind", "type").iter_rows()
    ]
    return classified.with_columns(type=pl.Series(types, dtype=pl.String))


def _core(process: Row, kind: str, on_host: bool) -> str | None:
    if kind == "kernel":
        return process.core or None
    return "HOST_CPU" if kind == "operator" and on_host and process.core == "HOST_CPU" else None


def _base_ns(rows: pl.DataFrame, known: Known, trace: StepTrace, core_ops: pl.Expr, ai_cpu: pl.Expr) -> int | None:
    """What the file subtracted from its times, found by an event whose exact time is known."""
    for which, exact in ((core_ops, known.tasks), (ai_cpu, known.aicpu)):
        starts: list[int] = rows.filter(which)["start_ns"].drop_nulls().to_list()
        if exact and len(starts) == len(exact):
            return min(exact) - min(starts)
    first = {step.number: step.start for step in trace.steps}
    for name, start in rows.filter(pl.col("kind") == "step").select("name", "start_ns").iter_rows():
        number = integer(name)
        if start is not None and number in first:
            return first[number] - int(start)
    return None


def _add_steps(rows: pl.DataFrame, base: int, trace: StepTrace, file: str) -> None:
    """Steps of the timeline's own track, for want of a step trace."""
    for name, start, dur in rows.filter(pl.col("kind") == "step").select("name", "start_ns", "dur_ns").iter_rows():
        number = integer(name)
        if number is not None and start is not None and dur is not None and dur >= 0:
            trace.steps.append(Step(number, start + base, start + base + dur, None, None))
    trace.steps.sort(key=lambda step: step.start)
    trace.file = trace.file or file
