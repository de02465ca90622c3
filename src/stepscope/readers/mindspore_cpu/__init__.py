"""What MindSpore 2.x writes on a host without accelerator: text files in ``…_ascend_ms/FRAMEWORK``.

Checked against MindSpore 2.10 in Graph and PyNative mode. ``ASCEND_PROFILER_OUTPUT/trace_view.json`` beside it
repeats the same executions, shifted by the rounding of a float, and is not read. A CPU run records no steps, so the
window counts as one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.readers import minddata
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.folders import files_in
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import read_csv, read_json
from stepscope.readers.mindspore_cpu.collectives import collectives
from stepscope.readers.mindspore_cpu.memory_record import read_memory_record
from stepscope.readers.mindspore_cpu.operators import read_details, read_operators
from stepscope.readers.slices.slice_parts import SliceParts
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.slices.steps import ChooseSteps, no_steps, one_step
from stepscope.store.notes import Notes

_FILES: Final = {
    "times": re.compile(r"cpu_op_execute_timestamp_(\d{1,9})\.txt"),
    "details": re.compile(r"cpu_op_detail_info_(\d{1,9})\.csv"),
    "types": re.compile(r"cpu_op_type_info_(\d{1,9})\.csv"),
    "shapes": re.compile(r"cpu_framework_(\d{1,9})\.txt"),
    "memory": re.compile(r"cpu_ms_memory_record_(\d{1,9})\.txt"),
}
_METADATA: Final = "profiler_metadata.json"
_FRAMEWORK: Final = "FRAMEWORK"
_OUTPUT: Final = "ASCEND_PROFILER_OUTPUT"
_NAME: Final = re.compile(r"(?:(?P<worker>.+?)_)??(?:(?P<span>\d{14,20})_)?ascend_ms")
_DEVICE_DATA: Final = re.compile(r"PROF_\d+_.*")
_DEVICE_FILES: Final = re.compile(r"kernel_details\.csv|.*\.db|communication\.json|mindspore\.op_range")


def claim(directory: Path, folders: list[str], files: list[str]) -> list[Source] | None:
    """A rank's directory with CPU operators and nothing from a device, or its ``FRAMEWORK`` folder alone."""
    if any(_DEVICE_DATA.fullmatch(folder) for folder in folders):
        return None
    if _FRAMEWORK in folders:
        listed = [*files_in(directory / _FRAMEWORK), *files_in(directory / _OUTPUT)]
        listed += [directory / name for name in sorted(files) if name == _METADATA]
    elif directory.name == _FRAMEWORK or not folders:
        listed = [directory / name for name in sorted(files)]
    else:
        return None
    if any(_DEVICE_FILES.fullmatch(file.name) for file in listed):
        return None
    ranks = sorted({rank for file in listed if (rank := _rank_of(file.name)) is not None})
    named = _NAME.fullmatch(directory.name)
    sources = [
        Source(
            directory,
            "mindspore_cpu",
            rank,
            tuple(file for file in listed if _belongs(file.name, rank, len(ranks) == 1)),
            worker=named["worker"] if named else None,
            span=int(named["span"]) if named and named["span"] else None,
            form="text",
        )
        for rank in ranks
    ]
    return sources or None


def claim_file(path: Path, head: bytes) -> Source | None:
    """A file of CPU operators that was named by itself."""
    rank = _rank_of(path.name)
    return None if rank is None or not head.strip() else Source(path, "mindspore_cpu", rank, (path,), form="text")


def read(reading: Reading, choose_steps: ChooseSteps | None = None) -> None:
    """Read the files of one rank.

    ``choose_steps`` is given by a capture of our own profiler. It knows its steps and its clock from elsewhere, and
    says itself what was not recorded.
    """
    file_of = {
        subject: file
        for file in reading.source.files
        for subject, name in _FILES.items()
        if name.fullmatch(_plain(file.name))
    }
    parts, reported = SliceParts(), Reported()
    types = read_details(file_of["details"], reported, reading) if "details" in file_of else {}
    if "types" in file_of and (table := read_csv(file_of["types"], reading)) is not None:
        reported.add_table(file_of["types"].name, table, ("op_type",), reading.notes)
    reported.write(reading.out)
    if "times" in file_of:
        read_operators(file_of["times"], types, file_of.get("shapes"), parts, reading)
    if "memory" in file_of:
        read_memory_record(file_of["memory"], reading)
    minddata.read_pipeline(reading.source.files, reading, parts.tracks, parts)
    if choose_steps is None:
        _note_what_is_missing(reading.source, file_of, reading.notes)
    slices = parts.build(reading.out, reading.notes, reading.source.path.name)
    if len(slices):
        steps = no_steps() if choose_steps is None else choose_steps(no_steps())
        if not len(steps.number):
            reading.notes.add("no_steps_on_cpu", file=reading.source.path.name)
            steps = one_step(slices)
        slices.integers["step"] = steps.at(slices.start)
        reading.out.add("steps", steps.frame())
        reading.out.add("collectives", collectives(slices))
        if choose_steps is None and any(minddata.rank_of(file.name) is not None for file in reading.source.files):
            reading.notes.add("pipeline_own_clock", file=reading.source.path.name)
    slices.write(reading.out)
    reading.out.add("tracks", parts.tracks.frame())
    reading.out.add("ranks", pl.DataFrame([_rank_row(reading, slices)]))


def _rank_row(reading: Reading, slices: SliceTable) -> dict[str, Any]:
    metadata = next((file for file in reading.source.files if file.name == _METADATA), None)
    said = read_json(metadata, reading) if metadata is not None else None
    row: dict[str, Any] = {
        "framework": "mindspore",
        "device_kind": "cpu",
        "clock_base_ns": 0,
        "source": str(reading.source.path),
        "switches": json.dumps({"profile_memory": any("memory_record" in file.name for file in reading.source.files)}),
    }
    if isinstance(said, dict) and said:
        row["switches"] = json.dumps({**json.loads(row["switches"]), "metadata": said}, default=str)
    if len(slices):
        row |= {"first_ns": int(slices.start.min()), "last_ns": int(slices.end.max())}
    return row


def _note_what_is_missing(source: Source, file_of: dict[str, Path], notes: Notes) -> None:
    if "times" not in file_of:
        notes.add("cpu_operators_missing", file=source.path.name)
    if "memory" not in file_of:
        notes.add("cpu_memory_missing", file=source.path.name)
    if not any(minddata.rank_of(file.name) is not None for file in source.files):
        notes.add("cpu_pipeline_missing", file=source.path.name)
    if (source.path / _OUTPUT / "trace_view.json").is_file():
        notes.add("trace_view_repeats", file="trace_view.json")


def _belongs(name: str, rank: int, alone: bool) -> bool:
    if name == _METADATA or minddata.subject_of(name) == "dataset":
        return alone
    return rank in (_rank_of(name), minddata.rank_of(name))


def _rank_of(name: str) -> int | None:
    matches = (pattern.fullmatch(_plain(name)) for pattern in _FILES.values())
    return next((int(match[1]) for match in matches if match), None)


def _plain(name: str) -> str:
    return name.removesuffix(".gz")
