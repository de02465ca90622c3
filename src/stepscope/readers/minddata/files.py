"""Names of MindSpore's input-pipeline files, and whose they are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

#: Subject of a file by its name; the number is the rank (the device in files of one host).
_NAMES: Final = {
    "stages": re.compile(r"pipeline_profiling_(\d{1,9})\.json"),
    "stages_csv": re.compile(r"minddata_pipeline_raw_(\d{1,9})\.csv"),
    "summary": re.compile(r"minddata_pipeline_summary_(\d{1,9})\.json"),
    "summary_csv": re.compile(r"minddata_pipeline_summary_(\d{1,9})\.csv"),
    "processors": re.compile(r"minddata_cpu_utilization_(\d{1,9})\.json"),
    "device_queue": re.compile(r"device_queue_profiling_(\d{1,9})\.txt"),
    "iterator": re.compile(r"dataset_iterator_profiling_(\d{1,9})\.txt"),
    "get_next": re.compile(r"minddata_aicpu_(\d{1,9})\.txt"),
    "get_next_gpu": re.compile(r"minddata_getnext_profiling_(\d{1,9})\.txt"),
    "dataset": re.compile(r"dataset\.csv"),
}


def subject_of(name: str) -> str | None:
    """What a pipeline file is about, None for other files; a gzipped file counts as its content.

    >>> subject_of("pipeline_profiling_0.json"), subject_of("trace.json")
    ('stages', None)
    """
    return next((subject for subject, pattern in _NAMES.items() if pattern.fullmatch(_plain(name))), None)


def rank_of(name: str) -> int | None:
    """The rank in a pipeline file's name.

    >>> rank_of("device_queue_profiling_12.txt"), rank_of("dataset.csv")
    (12, None)
    """
    subject = subject_of(name)
    match = _NAMES[subject].fullmatch(_plain(name)) if subject else None
    return int(match[1]) if match and match.groups() else None


def by_subject(files: Iterable[Path]) -> dict[str, Path]:
    """The pipeline files among ``files``, one per subject."""
    return {subject: file for file in sorted(files) if (subject := subject_of(file.name)) is not None}


def _plain(name: str) -> str:
    return name.removesuffix(".gz")
