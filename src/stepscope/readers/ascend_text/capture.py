"""Which directories and files are Ascend text captures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from stepscope.readers import minddata
from stepscope.readers.ascend.identity import rank_columns
from stepscope.readers.ascend.rank_directory import (
    DEVICE_INFO,
    FRAMEWORK_FOLDER,
    MSPROF_OUTPUT_FOLDER,
    OUTPUT_FOLDER,
    describe,
    is_rank_directory,
    rank_in_names,
    read_json,
)
from stepscope.readers.ascend_text.files import known_file
from stepscope.readers.discovery.source import WITH_TIMELINE, Source

READER: Final = "ascend_text"
_PROF: Final = "PROF_"
# Written by other profilers of MindSpore too, so they alone make no capture of ours.
_SHARED_STEMS: Final = ("parallel_strategy",)
_TIMELINES: Final = frozenset(("trace_view", "msprof", "kernel_details", "op_summary"))
_EMPTY_BYTES: Final = 2  # "[]" and "{}"
_NO_PIPELINE: Final = (None, "get_next", "get_next_gpu")
_CPU_OPERATORS: Final = "cpu_op_execute_timestamp_"
_IN_TRACE: Final = re.compile(
    rb'"(?:Ascend Hardware|CANN|Overlap Analysis|AscendCL@\w+|torch_to_npu|mindspore_to_npu|enqueue_to_dequeue'
    rb'|HostToDevice\d*|CPU OP|Scope Layer|Task Type)"'
)


def claim(directory: Path, folders: list[str], files: list[str]) -> list[Source] | None:
    """The rank that this directory holds, if it holds one in text form."""
    if is_rank_directory(directory, folders, files):
        return _claim_rank(directory, folders, files)
    if directory.name.startswith(_PROF) or MSPROF_OUTPUT_FOLDER in folders:
        files_of_rank = _in(directory / MSPROF_OUTPUT_FOLDER) or _in(directory)
        return [_source(directory, files_of_rank, _device_infos(directory))] if _enough(files_of_rank) else None
    files_of_rank = _only_known(directory / name for name in files)
    return [_source(directory, files_of_rank, ())] if _enough(files_of_rank) else None


def claim_file(path: Path, head: bytes) -> Source | None:
    """A file that a user named: a table by its name, a timeline also by what it holds."""
    file = known_file(path)
    if file is not None and file.extension == "csv":
        return _source(path, [path], ()) if file.stem not in _SHARED_STEMS else None
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    named = file is not None and file.stem == "trace_view"
    is_timeline = text.startswith(b"[") and (named or _IN_TRACE.search(text) is not None)
    stated = file is not None and file.stem in ("communication", "communication_matrix")
    return _source(path, [path], ()) if is_timeline or (stated and text.startswith(b"{")) else None


def _claim_rank(directory: Path, folders: list[str], files: list[str]) -> list[Source] | None:
    files_of_rank = _in(directory / OUTPUT_FOLDER) if OUTPUT_FOLDER in folders else []
    if not files_of_rank:
        profs = sorted(folder for folder in folders if folder.startswith(_PROF))
        files_of_rank = [file for folder in profs for file in _in(directory / folder / MSPROF_OUTPUT_FOLDER)]
    if not files_of_rank:
        files_of_rank = _only_known(directory / name for name in files)
    if not _enough(files_of_rank) or _on_host(directory, folders, files_of_rank):
        return None
    loose = _only_known(directory / name for name in files) + _in(directory / FRAMEWORK_FOLDER)
    files_of_rank += [file for file in loose if file not in files_of_rank]
    described = describe(directory, files)
    infos = [
        file for folder in sorted(folders) if folder.startswith(_PROF) for file in _device_infos(directory / folder)
    ]
    columns = rank_columns(read_json(described.info_file), read_json(described.metadata_file))
    return [
        Source(
            directory,
            READER,
            described.rank,
            (*files_of_rank, *described.identity_files(), *infos),
            columns["world_size"],
            described.worker,
            described.span,
            "text",
            _completeness(files_of_rank, 1),
        )
    ]


def _source(path: Path, own_files: Sequence[Path], infos: Sequence[Path]) -> Source:
    rank = next((rank for info in infos if (rank := _rank(read_json(info).get("rank_id"))) is not None), None)
    if rank is None and path.is_dir():
        rank = rank_in_names(path)
    span = re.search(r"_(\d{14,20})_", path.name)
    return Source(
        path,
        READER,
        rank,
        (*own_files, *infos),
        span=int(span[1]) if span else None,
        form="text",
        completeness=_completeness(own_files, 2),  # a full capture is 12 files, or 24 tables of a database
    )


def _completeness(files: Sequence[Path], weight: int) -> int:
    """How much there is, for choosing between text and db; empty files tell nothing."""
    filled = [file for file in files if file.stat().st_size > _EMPTY_BYTES]
    stems = {file.stem for path in filled if (file := known_file(path)) is not None}
    return weight * len(filled) + (WITH_TIMELINE if stems & _TIMELINES else 0)


def _on_host(directory: Path, folders: list[str], own_files: Sequence[Path]) -> bool:
    """Whether MindSpore recorded without a device: the timeline then only repeats what FRAMEWORK has exactly."""
    if FRAMEWORK_FOLDER not in folders or any(folder.startswith(_PROF) for folder in folders):
        return False
    stems = {file.stem for path in own_files if (file := known_file(path)) is not None}
    exact = (directory / FRAMEWORK_FOLDER).glob(f"{_CPU_OPERATORS}*")
    return stems <= {"trace_view", *_SHARED_STEMS} and next(exact, None) is not None


def _enough(files: Sequence[Path]) -> bool:
    return any((file := known_file(path)) is not None and file.stem not in _SHARED_STEMS for path in files)


def _in(folder: Path) -> list[Path]:
    try:
        return _only_known(folder.iterdir())
    except OSError:
        return []


def _only_known(paths: Iterable[Path]) -> list[Path]:
    return sorted(path for path in paths if is_read(path) and path.is_file())


def is_read(path: Path) -> bool:
    """Whether a file of the output is read, by this reader or by that of MindSpore's input pipeline."""
    return known_file(path) is not None or minddata.subject_of(path.name) not in _NO_PIPELINE


def _device_infos(prof: Path) -> list[Path]:
    try:
        devices = sorted(folder for folder in prof.iterdir() if folder.name.startswith("device_") and folder.is_dir())
        return [file for folder in devices for file in sorted(folder.iterdir()) if DEVICE_INFO.fullmatch(file.name)]
    except OSError:
        return []


def _rank(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 10 else None
