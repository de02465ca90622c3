"""Rank directories of Ascend captures: what they are called, what lies in them, whose they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepscope.readers.ascend.identity import rank_of

OUTPUT_FOLDER: Final = "ASCEND_PROFILER_OUTPUT"
FRAMEWORK_FOLDER: Final = "FRAMEWORK"
MSPROF_OUTPUT_FOLDER: Final = "mindstudio_profiler_output"
METADATA_FILE: Final = "profiler_metadata.json"
#: What msprof writes about each device.
DEVICE_INFO: Final = re.compile(r"info\.json(?:\.\d{1,9})?")

_INFO_FILE: Final = re.compile(r"profiler_info(?:_(\d{1,9}))?\.json")
# {worker}_{timestamp of 14 to 20 digits}_ascend_pt; hand-made names lack the timestamp, or all before the suffix.
_NAME: Final = re.compile(r"(?:(?P<worker>.+?)_)??(?:(?P<span>\d{14,20})_)?ascend_(?P<writer>pt|ms)")
_DYNAMIC: Final = re.compile(r"rank_?(\d{1,9})(?:_start\d{1,15}_stop\d{1,15})?")
_RANK_IN_NAME: Final = re.compile(r"(?:^|[^a-z])rank[-_]?(\d{1,9})", re.IGNORECASE)
_PROF: Final = re.compile(r"PROF_\w+_(\d{14,20})_\w+")
_MOST_JSON_BYTES: Final = 16 << 20
_FRAMEWORKS: Final = {"pt": "pytorch", "ms": "mindspore"}


@dataclass(frozen=True)
class RankDirectory:
    """One rank's capture as its directory tells it, before any data is read."""

    path: Path
    framework: str | None
    rank: int | None
    worker: str | None
    span: int | None  # the timestamp in the name, orders the captures of one worker
    info_file: Path | None
    metadata_file: Path | None

    @property
    def output(self) -> Path:
        return self.path / OUTPUT_FOLDER

    def identity_files(self) -> tuple[Path, ...]:
        """The JSON files that say who recorded it, those that exist."""
        return tuple(file for file in (self.info_file, self.metadata_file) if file is not None)


def is_rank_directory(directory: Path, folders: Iterable[str], files: Iterable[str]) -> bool:
    """Whether this is the directory of one rank: by its name, its output folder, or its information file."""
    return (
        _NAME.fullmatch(directory.name) is not None
        or OUTPUT_FOLDER in folders
        or any(_INFO_FILE.fullmatch(name) for name in files)
    )


def is_information(name: str) -> bool:
    """Whether this is the name of ``profiler_info_N.json``."""
    return _INFO_FILE.fullmatch(name) is not None


def describe(directory: Path, files: Iterable[str]) -> RankDirectory:
    """Look at a rank directory's name and its information file."""
    listed = sorted(files)
    infos = [name for name in listed if _INFO_FILE.fullmatch(name)]
    info_file = directory / infos[-1] if infos else None
    name = _NAME.fullmatch(directory.name)
    rank = rank_of(read_json(info_file)) if info_file else None
    if rank is None and infos and (stated := _INFO_FILE.fullmatch(infos[-1])) and stated[1]:
        rank = int(stated[1])
    return RankDirectory(
        directory,
        _FRAMEWORKS[name["writer"]] if name else None,
        rank if rank is not None else rank_in_names(directory),
        (name["worker"] if name else None),
        int(name["span"]) if name and name["span"] else _prof_span(directory.name),
        info_file,
        directory / METADATA_FILE if METADATA_FILE in listed else None,
    )


def rank_in_names(directory: Path) -> int | None:
    """A rank that the directory's name, or its parent's in dynamic mode, tells.

    >>> rank_in_names(Path("dyn/rank3_start5_stop8/host_77_20250109123456789_ascend_ms"))
    3
    """
    named = _RANK_IN_NAME.search(directory.name)
    if named:
        return int(named[1])
    dynamic = _DYNAMIC.fullmatch(directory.parent.name)
    return int(dynamic[1]) if dynamic else None


def read_json(path: Path | None) -> dict[str, Any]:
    """A small JSON object; empty if the file is missing, too large, damaged or something else."""
    if path is None:
        return {}
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_JSON_BYTES + 1)
        content = json.loads(raw) if len(raw) <= _MOST_JSON_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _prof_span(name: str) -> int | None:
    match = _PROF.fullmatch(name)
    return int(match[1]) if match else None
