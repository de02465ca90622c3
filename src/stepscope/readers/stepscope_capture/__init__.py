"""What ``stepscope.profiler`` recorded: one directory per window and rank, see docs/capture.

The operators are in the framework's own files (PyTorch's trace, MindSpore's ``FRAMEWORK``), which their readers read;
steps, marks, samples and data loaders are ours. ``ASCEND_PROFILER_OUTPUT`` was made from these and is not read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.layout import names
from stepscope.readers import kineto, minddata, mindspore_cpu
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.reader import claims_no_file as claim_file
from stepscope.readers.slices.slice_parts import SliceParts
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.slices.steps import Steps
from stepscope.readers.slices.track_numbers import TrackNumbers
from stepscope.readers.stepscope_capture.data_loaders import read_data_loaders
from stepscope.readers.stepscope_capture.description import Description, read_description
from stepscope.readers.stepscope_capture.last_moment import last_moment
from stepscope.readers.stepscope_capture.marks import read_marks
from stepscope.readers.stepscope_capture.missing_files import note_missing_files
from stepscope.readers.stepscope_capture.samples import read_samples
from stepscope.readers.stepscope_capture.step_lines import StepLines, read_steps
from stepscope.readers.stepscope_capture.tap import Tap
from stepscope.store.rank_writer import RankWriter

__all__ = ["claim", "claim_file", "read"]

_READER: Final = "stepscope_capture"


def claim(directory: Path, folders: list[str], files: list[str]) -> list[Source] | None:
    """A window's directory, by its ``stepscope.json``."""
    if names.CAPTURE_FILE not in files or names.RAW_FOLDER not in folders:
        return None
    said = read_description(directory / names.CAPTURE_FILE)
    if not said.known and not said.damaged:
        return None
    if (said.damaged or said.device_kind == "npu") and any(folder.startswith("PROF_") for folder in folders):
        return None  # MindSpore's own collector recorded an NPU here; the reader of its files knows more
    named = names.parse_capture_name(directory.name)
    own_files = [directory / name for name in sorted(files) if not name.startswith(".")]
    for folder in (names.RAW_FOLDER, names.FRAMEWORK_FOLDER):
        own_files += _listed(directory / folder)
    return [
        Source(
            directory,
            _READER,
            said.rank,
            tuple(own_files),
            world_size=said.world_size,
            worker=named.worker if named else None,
            span=int(named.timestamp) if named else None,
        )
    ]


def read(reading: Reading) -> None:
    """Read one window of one rank."""
    raw = reading.source.path / names.RAW_FOLDER
    said = read_description(reading.source.path / names.CAPTURE_FILE)
    if said.damaged:
        reading.notes.add("capture_description_damaged", file=names.CAPTURE_FILE)
    if said.cut_off:
        reading.notes.add("capture_cut_off", file=names.CAPTURE_FILE)
    note_missing_files(said, reading.notes)
    last_ns = said.time_ns("stopped") or last_moment(raw)
    lines = read_steps(raw, said, last_ns, reading)
    tap = Tap(reading.out, said.steady_offset_ns if said.backend == "mindspore" else None)
    _read_operators(reading, said, lines, tap)
    parts = SliceParts(TrackNumbers(tap.first_track))
    steps = lines.own()
    read_marks(raw, last_ns, parts, reading)
    read_samples(raw, reading, tap.memory_devices)
    read_data_loaders(raw, reading).write(steps, parts, reading.out, reading.notes)
    slices = parts.build(reading.out, reading.notes, reading.source.path.name)
    slices.id = slices.id + tap.first_slice
    slices.integers["step"] = steps.at(slices.start)
    slices.write(reading.out)
    reading.out.add("tracks", parts.tracks.frame())
    _write_steps(lines, tap, reading.out)
    _write_communication(said, tap, reading.out)
    reading.out.add("ranks", pl.DataFrame([_rank_row(reading.source, said, tap, slices)], infer_schema_length=None))


def _read_operators(reading: Reading, said: Description, lines: StepLines, tap: Tap) -> None:
    """Let the framework's own reader read its files; what is missing is noted."""
    trace = reading.source.path / names.RAW_FOLDER / names.TRACE_FILE
    framework = tuple(file for file in reading.source.files if file.parent.name == names.FRAMEWORK_FOLDER)

    def chosen(marked: Steps) -> Steps:
        return lines.fitted(marked)

    if trace.is_file():
        inner = Source(trace, "kineto", reading.source.rank, (trace,))
        kineto.read(reading.part(inner, tap), choose_steps=chosen)
    elif framework:
        inner = Source(reading.source.path, "mindspore_cpu", reading.source.rank, framework)
        mindspore_cpu.read(reading.part(inner, tap), choose_steps=chosen)
        if said.steady_offset_ns is None and any(minddata.rank_of(file.name) is not None for file in framework):
            reading.notes.add("pipeline_own_clock", file=reading.source.path.name)
    elif said.backend != "plain" and not said.marks_only:
        reading.notes.add(
            "operators_failed" if said.backend_failed else "operators_lost", file=reading.source.path.name
        )


def _write_steps(lines: StepLines, tap: Tap, out: RankWriter) -> None:
    rows = tap.kept("steps")
    if rows.is_empty():
        rows = lines.own().frame()
    if not rows.is_empty():
        out.add("steps", rows.with_columns(incomplete=pl.col("step").is_in(lines.incomplete())))


def _write_communication(said: Description, tap: Tap, out: RankWriter) -> None:
    known = tap.kept("groups")
    out.add("groups", known)
    stated = said.groups()
    seen = known["group"].cast(pl.String).to_list() if not known.is_empty() else []
    out.add("groups", stated.filter(~pl.col("group").is_in(seen)))
    calls = tap.kept("collectives")
    if stated.height == 1 and not calls.is_empty():
        # MindSpore does not record the group of a call; where the job has one group only, it is that.
        unknown = calls["group"] if "group" in calls.columns else pl.Series([None] * len(calls), dtype=pl.String)
        calls = calls.with_columns(group=unknown.cast(pl.String).fill_null(stated["group"].cast(pl.String)[0]))
    out.add("collectives", calls)


def _rank_row(source: Source, said: Description, tap: Tap, slices: SliceTable) -> dict[str, Any]:
    """What the operators' reader found, completed by what we know better: host, world, switches."""
    rows = tap.kept("ranks")
    stated_row = rows.row(0, named=True) if not rows.is_empty() else {"clock_base_ns": 0}
    stated = said.rank_columns()
    if stated_row.get("device_kind") not in (None, "cpu"):
        stated.pop("device_kind", None)  # seen at work, which the job's own word need not know
    row = {**stated_row, **stated, "source": str(source.path)}
    if len(slices):
        ends = (int(slices.start.min()), int(slices.end.max()))
        row["first_ns"] = min(ends[0], stated_row["first_ns"]) if stated_row.get("first_ns") is not None else ends[0]
        row["last_ns"] = max(ends[1], stated_row["last_ns"]) if stated_row.get("last_ns") is not None else ends[1]
    return row


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith("."))
    except OSError:
        return []
