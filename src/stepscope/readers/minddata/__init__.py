"""MindSpore's input pipeline: stages, queues, batches, processors. The files are the same on Ascend, GPU and CPU.

The directories of MindSpore and of MindInsight hold them among others, and their readers call :func:`read_pipeline`;
a directory that holds nothing else is read by this one. The files of CPU runs were checked against what MindSpore
2.10 writes; what only an Ascend or GPU run writes (``minddata_aicpu``, ``minddata_getnext_profiling``,
``dataset.csv``) follows samples and documentation.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.reported import Reported
from stepscope.readers.minddata import batches, stages, summary
from stepscope.readers.minddata.files import by_subject, rank_of, subject_of
from stepscope.readers.minddata.get_next import read_get_next
from stepscope.readers.minddata.processors import read_processors
from stepscope.readers.slices.slice_parts import SliceParts
from stepscope.readers.slices.steps import one_step
from stepscope.readers.slices.track_numbers import TrackNumbers

__all__ = ["claim", "claim_file", "rank_of", "read", "read_pipeline", "subject_of"]


def claim(directory: Path, folders: list[str], files: list[str]) -> list[Source] | None:
    """A directory without folders whose pipeline files nobody else knows, one source per rank."""
    pipeline_files = [name for name in sorted(files) if rank_of(name) is not None]
    if folders or not pipeline_files:
        return None
    ranks = sorted({rank for name in pipeline_files if (rank := rank_of(name)) is not None})
    shared = tuple(directory / name for name in sorted(files) if subject_of(name) == "dataset")
    return [
        Source(
            directory,
            "minddata",
            rank,
            (
                *(directory / name for name in pipeline_files if rank_of(name) == rank),
                *(shared if len(ranks) == 1 else ()),
            ),
        )
        for rank in ranks
    ]


def claim_file(path: Path, head: bytes) -> Source | None:
    """A pipeline file that was named by itself."""
    rank = rank_of(path.name)
    return None if rank is None or not head.strip() else Source(path, "minddata", rank, (path,))


def read(reading: Reading) -> None:
    """Read the pipeline files of one rank."""
    parts = SliceParts()
    read_pipeline(reading.source.files, reading, parts.tracks, parts)
    slices = parts.build(reading.out, reading.notes, reading.source.path.name)
    if len(slices):
        reading.notes.add("no_steps_in_files", file=reading.source.path.name)
        steps = one_step(slices)
        slices.integers["step"] = steps.at(slices.start)
        reading.out.add("steps", steps.frame())
    slices.write(reading.out)
    reading.out.add("tracks", parts.tracks.frame())
    row = {
        "framework": "mindspore",
        "world_size": reading.source.world_size,
        "clock_base_ns": 0,
        "source": str(reading.source.path),
    }
    if len(slices):
        row |= {"first_ns": int(slices.start.min()), "last_ns": int(slices.end.max())}
    reading.out.add("ranks", pl.DataFrame([row]))


def read_pipeline(
    files: Iterable[Path],
    reading: Reading,
    track_numbers: TrackNumbers,
    parts: SliceParts | None = None,
) -> None:
    """Read all pipeline files among ``files``; others are passed over.

    Counters need tracks: ``track_numbers`` has them, and the caller writes its ``frame()`` to ``tracks``. ``parts``
    takes the slices of the device's waiting for data; a caller that has none need not give it.
    """
    file_of = by_subject(files)
    reported = Reported()
    sampled_ms = read_processors(file_of["processors"], reading, track_numbers) if "processors" in file_of else []
    pipeline = _read_stages(file_of, sampled_ms, reading, track_numbers, reported)
    if "device_queue" in file_of:
        batches.read_batches(file_of["device_queue"], reading, track_numbers)
    if "iterator" in file_of:
        # In sink mode the device takes the batches; an iterator beside it is another loop, such as evaluation.
        beside = "device_queue" in file_of
        batches.read_batches(file_of["iterator"], reading, track_numbers, reported if beside else None)
    for subject in ("get_next", "get_next_gpu"):
        if subject in file_of and parts is not None:
            read_get_next(file_of[subject], pipeline, reading, parts)
    _read_summary(file_of, reported, reading)
    reported.write(reading.out)


def _read_stages(
    file_of: dict[str, Path],
    sampled_ms: list[int],
    reading: Reading,
    track_numbers: TrackNumbers,
    reported: Reported,
) -> int:
    """Write the stages; returns the one that feeds the device."""
    written = stages.read_stages(file_of["stages"], reading) if "stages" in file_of else None
    listed = None
    if "stages_csv" in file_of:
        listed = stages.read_stages_csv(file_of["stages_csv"], reported, reading)
        if written is not None and listed is not None:
            stages.note_disagreement(written, listed, file_of["stages_csv"].name, reading.notes)
    pipeline = written or listed
    if pipeline is None:
        return stages.DEVICE_QUEUE
    file = file_of["stages" if written is not None else "stages_csv"].name
    stages.write_pipeline(pipeline, sampled_ms, reading.out, reading.notes, track_numbers, file)
    return pipeline.sink


def _read_summary(file_of: dict[str, Path], reported: Reported, reading: Reading) -> None:
    json_form = summary.read_summary(file_of["summary"], reading) if "summary" in file_of else {}
    csv_form = summary.read_summary_csv(file_of["summary_csv"], reading) if "summary_csv" in file_of else {}
    if json_form and csv_form:
        summary.note_disagreement(json_form, csv_form, file_of["summary_csv"].name, reading.notes)
    if json_form or csv_form:
        file = file_of["summary" if json_form else "summary_csv"].name
        summary.write_summary(json_form or csv_form, file, reported, reading.notes)
    if "dataset" in file_of:
        summary.read_dataset_table(file_of["dataset"], reported, reading)
