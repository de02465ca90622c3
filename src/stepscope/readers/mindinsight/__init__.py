"""Directories that MindInsight 1.x and 2.x shows: what MindSpore's own analysis left in ``<run>/profiler``.

One directory may hold many ranks, told apart by the number in each file's name. The Ascend files follow samples of
releases 1.3 to 2.x; the raw GPU files, memory files and Ascend's dynamic shapes were built from documentation, not
from a sample. All device times are on the device's own clock; the input pipeline's are on the host's steady clock.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from stepscope.readers import minddata
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.reported import Reported
from stepscope.readers.mindinsight import device_tasks, display, gpu, memory, operators, step_trace
from stepscope.readers.mindinsight.calls import calls
from stepscope.readers.mindinsight.cluster_folder import FOLDER, cluster_sources
from stepscope.readers.mindinsight.communication import Communication, read_communication
from stepscope.readers.mindinsight.dynamic_shapes import read_dynamic_shapes
from stepscope.readers.mindinsight.gpu_step_trace import read_gpu_step_trace
from stepscope.readers.mindinsight.identity import RankIdentity
from stepscope.readers.mindinsight.layout import RankFiles, named, sources
from stepscope.readers.mindinsight.missing import note_what_is_missing
from stepscope.readers.mindinsight.strategy import read_strategy
from stepscope.readers.mindinsight.summaries import read_summaries
from stepscope.readers.mindspore_cpu.memory_record import read_memory_record
from stepscope.readers.mindspore_cpu.operators import read_details, read_operators
from stepscope.readers.slices.slice_parts import SliceParts
from stepscope.readers.slices.steps import one_step

# These alone do not make a profiler directory: other formats have them too.
_COMMON: Final = frozenset(
    [
        "pipeline",
        "info",
        "operator_memory",
        "cpu_operators",
        "cpu_details",
        "cpu_shapes",
        "cpu_memory",
        "table:cpu_types",
    ]
)


def claim(directory: Path, folders: list[str], files: list[str]) -> list[Source] | None:
    """A directory with files that only MindSpore's analysis for MindInsight writes, one source per rank."""
    if FOLDER in folders and (found_below := cluster_sources(directory)):
        return found_below
    subjects = {file.subject for name in files if (file := named(name)) is not None}
    if not subjects - _COMMON or any(folder in ("ASCEND_PROFILER_OUTPUT", "FRAMEWORK") for folder in folders):
        return None
    return sources(directory, files) or None


def claim_file(path: Path, head: bytes) -> Source | None:
    """A file of such a directory that was named by itself."""
    file = named(path.name)
    if file is None or file.subject in _COMMON or not head.strip():
        return None
    return Source(path, "mindinsight", file.rank or 0, (path,), file.world)


def read(reading: Reading) -> None:
    """Read the files of one rank."""
    files = RankFiles(reading.source.files)
    identity = RankIdentity(reading, files)
    parts, reported = SliceParts(), Reported()
    trace = _read_step_trace(files, reported, reading)
    for path in files.every("strategy"):
        read_strategy(path, identity, reading, reported)
    summary = read_summaries(files, len(trace.steps), reported, reading)
    identity.set_capacity(summary.get("capacity"))
    communication = Communication()
    for path in files.every("communication"):
        communication = read_communication(path, identity, reported, reading)
    reading.out.add("transfers", communication.transfer_rows())
    # On a GPU the kernels of NCCL are the communication; the calls of the step trace are the operators around them.
    repeated = bool(trace.calls) and files.first("gpu_activities") is not None
    trace.add_slices(parts, f"Device {identity.rank}", "reported" if repeated else "collective")
    reading.notes.add("step_trace_calls_repeated", file=trace.file, count=len(trace.calls) if repeated else 0)
    known = _read_ascend_tasks(files, identity, parts, reported, reading)
    known.calls = bool(trace.calls)
    known.activities, known.gpu_operators, known.host_operators = (
        files.first(subject) is not None for subject in ("gpu_activities", "gpu_operators", "cpu_operators")
    )
    _read_host_and_gpu(files, parts, reported, reading)
    for subject in ("ascend_display", "gpu_display", "cpu_display"):
        for path in files.every(subject):
            events = display.read_display(path, subject == "gpu_display", reading)
            display.add_display(events, known, trace, parts, reading.notes)
    for path in files.every("dynamic_shapes"):
        read_dynamic_shapes(path, reported, reading)
    for path in files.every("memory_plan"):
        memory.read_plan(path, reported, reading)
    for path in files.every("operator_memory"):
        memory.read_operator_memory(path, reading)
    reported.write(reading.out)
    minddata.read_pipeline(reading.source.files, reading, parts.tracks, parts)
    note_what_is_missing(reading.source, files, identity, reading.notes)
    slices = parts.build(reading.out, reading.notes, reading.source.path.name)
    if len(slices) and "pipeline" in files.subjects:
        reading.notes.add("pipeline_own_clock", file=reading.source.path.name)
    if trace.steps or len(slices):
        if not trace.steps:
            reading.notes.add("no_steps_in_files", file=reading.source.path.name)
        steps = trace.marks() if trace.steps else one_step(slices)
        reading.out.add("steps", trace.frame() if trace.steps else steps.frame())
        slices.integers["step"] = steps.at(slices.start)
        stage = identity.stage_group if any(communication.within_stage.values()) else None
        reading.out.add(
            "collectives",
            calls(slices, slices.integers["step"], trace, communication, stage[0] if stage else None),
        )
        if stage and stage[0] not in identity.stated_groups:
            inferred = {"group": [stage[0]], "name": [stage[0]], "ranks": [stage[1]]}
            reading.out.add("groups", pl.DataFrame(inferred | {"origin": ["hccl_raw"], "confidence": ["inferred"]}))
    slices.write(reading.out)
    reading.out.add("tracks", parts.tracks.frame())
    reading.out.add("ranks", pl.DataFrame([identity.row(slices)], infer_schema_length=None))


def _read_step_trace(files: RankFiles, reported: Reported, reading: Reading) -> step_trace.StepTrace:
    """From the analysed file; the GPU's raw one only where that is missing."""
    trace = step_trace.StepTrace()
    if (path := files.first("step_trace")) is not None:
        trace = step_trace.read_step_trace(path, reported, reading)
    if (path := files.first("gpu_step_trace")) is not None:
        raw = read_gpu_step_trace(path, reading)
        if trace.steps:
            reading.notes.add("step_trace_source_repeats", file=path.name, count=len(raw.steps))
        else:
            trace = raw
    if (path := files.first("points")) is not None:
        step_trace.read_points(path, trace, reading)
    return trace


def _read_ascend_tasks(
    files: RankFiles,
    identity: RankIdentity,
    parts: SliceParts,
    reported: Reported,
    reading: Reading,
) -> display.Known:
    """Slices of the device's tasks and AI CPU kernels; what of them is known exactly."""
    device = f"Device {identity.rank}"
    paths = {subject: path for subject in ("tasks", "hwts", "framework") if (path := files.first(subject)) is not None}
    tasks = device_tasks.read_tasks(paths["tasks"], reading) if "tasks" in paths else _no_tasks()
    hwts = device_tasks.read_hwts(paths["hwts"], reading) if "hwts" in paths else _no_tasks("task")
    facts_of = operators.read_framework(paths["framework"], reading) if "framework" in paths else None
    device_tasks.add_tasks(
        tasks,
        hwts,
        facts_of if facts_of is not None else operators.nothing(),
        parts,
        reading.notes,
        device,
        {subject: path.name for subject, path in paths.items()},
    )
    known = display.Known(tasks["start_ns"].drop_nulls().to_list())
    tables = {
        subject: table
        for subject in ("aicpu", "aicpu_old")
        if (path := files.first(subject)) is not None
        and (table := device_tasks.read_aicpu(path, reported, reading)) is not None
    }
    if len(tables) == 2:
        old = files.first("aicpu_old")
        repeated = device_tasks.same_runs(tables["aicpu"], tables["aicpu_old"])
        reading.notes.add("aicpu_list_repeats", file=old.name if old else "", count=repeated)
        if repeated == len(tables["aicpu_old"].rows):
            del tables["aicpu_old"]
    for subject, table in tables.items():
        path = files.first(subject)
        file = path.name if path else ""
        known.aicpu += device_tasks.add_aicpu(table, file, parts, reading.notes, device)
    return known


def _read_host_and_gpu(
    files: RankFiles,
    parts: SliceParts,
    reported: Reported,
    reading: Reading,
) -> None:
    """Operators on the host's processors and on a GPU, and CUDA activities."""
    shift = gpu.read_shift(path, reading) if (path := files.first("start_time")) is not None else 0
    types = read_details(path, reported, reading) if (path := files.first("cpu_details")) is not None else {}
    if (path := files.first("cpu_operators")) is not None:
        read_operators(path, types, files.first("cpu_shapes"), parts, reading, shift)
    if (path := files.first("cpu_memory")) is not None:
        read_memory_record(path, reading)
    types = gpu.read_gpu_details(path, reported, reading) if (path := files.first("gpu_details")) else {}
    if (path := files.first("gpu_operators")) is not None:
        gpu.read_gpu_operators(path, types, files.first("gpu_shapes"), parts, reading)
    launched_by = gpu.no_activity_data()
    if (path := files.first("gpu_activity_data")) is not None:
        launched_by = gpu.read_activity_data(path, reported, reading)
    if (path := files.first("gpu_activities")) is not None:
        gpu.read_activities(path, launched_by, parts, reading)


def _no_tasks(*more: str) -> pl.DataFrame:
    return pl.DataFrame(
        schema={"name": pl.String(), **dict.fromkeys(("stream", *more, "start_ns", "dur_ns"), pl.Int64())}
    )
