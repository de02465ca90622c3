"""Which files of a directory belong to one msMemScope capture, and what a single file is.

::

    memscopeDumpResults/
      msmemscope_<pid>_<time>_ascend/     one process
        config.json
        device_<id>/dump/memscope_dump_<time>.csv or .db, python_trace_<tid>_<time>.csv
    leaksDumpResults/dump/leaks_dump_<time>.csv      older: one file for all devices
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Final

from stepscope.readers.discovery.source import Source
from stepscope.readers.msmemscope.dump_file import (
    DUMP_COLUMNS,
    DUMP_TABLE,
    SQLITE_MAGIC,
    TRACE_COLUMNS,
    TRACE_TABLE,
    columns_of,
    tables,
)

READER: Final = "msmemscope"
CONFIG: Final = "config.json"

_DUMP: Final = re.compile(r"^(?:memscope|leaks)_dump.*\.(csv|db)$", re.IGNORECASE)
_TRACE: Final = re.compile(r"^python_trace_.*\.csv$", re.IGNORECASE)
_PROCESS: Final = re.compile(r"^ms(?:memscope|leaks)_(\d{1,10})_(\d{1,17})_ascend$")
_DEVICE: Final = re.compile(r"^device_(\d{1,4}|cpu)$")
# What the tool leaves besides: logs, comparisons, watched blocks.
_BESIDE: Final = re.compile(r"^(?:compare|watch_dump|msmemscope_logs|msleaks_logs|logs?|\..*)$")
_FOREIGN: Final = re.compile(r"\.json(?:\.gz)?$", re.IGNORECASE)


def claim(directory: Path, folders: list[str], files: list[str]) -> list[Source] | None:
    """One source per device of each process that dumped here; None if nothing did."""
    own = [name for name in folders if not _BESIDE.match(name)]
    if own and all(_PROCESS.match(name) for name in own):
        return [source for name in sorted(own) for source in _of_process(directory / name)] or None
    if _PROCESS.match(directory.name):
        return _of_process(directory) or None
    if any(_FOREIGN.search(name) and name != CONFIG for name in files):
        return None
    if own and all(_DEVICE.match(name) or name == "dump" for name in own):
        return _of_process(directory) or None
    if not own and any(_DUMP.match(name) for name in files):
        return _sources(directory, _dump_files([directory]), [], directory)
    return None


def claim_file(path: Path, head: bytes) -> Source | None:
    """A dump, or a Python trace, that was named by the user."""
    if head.startswith(SQLITE_MAGIC):
        known = any(DUMP_TABLE.match(table) or TRACE_TABLE.match(table) for table in tables(path))
        form = "db"
    else:
        known, form = is_dump(head) or is_trace(head), "text"
    if not known:
        return None
    journal = path.with_name(path.name + "-wal")
    files = (path, journal) if form == "db" and journal.exists() else (path,)
    return Source(path, READER, _device_of(path), files, form=form)


def is_dump(head: bytes) -> bool:
    """Whether a text begins with the header of a dump."""
    return {"event", "type", "name"} <= set(columns_of(_header(head), DUMP_COLUMNS))


def is_trace(head: bytes) -> bool:
    """Whether a text begins with the header of a Python trace."""
    return {"name", "start", "end"} <= set(columns_of(_header(head), TRACE_COLUMNS))


def _header(head: bytes) -> list[str]:
    line = head.split(b"\n", 1)[0][:1000].decode("utf-8", "replace")
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _of_process(directory: Path) -> list[Source]:
    """The devices of one process; what it did on the host goes with its first device."""
    devices: dict[str, list[Path]] = {}
    for folder in sorted(directory.iterdir()) if directory.is_dir() else ():
        match = _DEVICE.match(folder.name)
        if folder.is_dir() and (match or folder.name == "dump"):
            files = _dump_files([folder, folder / "dump"])
            if files:
                devices[match[1] if match else ""] = files
    if not devices:
        files = _dump_files([directory])
        devices = {"": files} if files else {}
    host = devices.pop("cpu", [])
    if not devices:
        return _sources(directory, host, [], directory) if host else []
    first, *others = sorted(devices, key=lambda name: (len(name), name))
    sources = _sources(_device_folder(directory, first), devices[first], host, directory)
    for name in others:
        sources += _sources(_device_folder(directory, name), devices[name], [], directory)
    return sources


def _device_folder(directory: Path, device: str) -> Path:
    return directory / f"device_{device}" if device else directory


def _dump_files(folders: list[Path]) -> list[Path]:
    files = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]
    return [path for path in files if (_DUMP.match(path.name) or _TRACE.match(path.name)) and path.is_file()]


def _sources(path: Path, files: list[Path], more: list[Path], process: Path) -> list[Source]:
    """One source, or two where the dump was written as text and as database."""
    named = _PROCESS.match(process.name)
    config = process / CONFIG
    traces = [file for file in files + more if _TRACE.match(file.name)]
    sources = []
    for form, suffix in (("text", ".csv"), ("db", ".db")):
        dumps = [file for file in files + more if _DUMP.match(file.name) and file.name.lower().endswith(suffix)]
        if form == "text" and not dumps and not any(file.name.lower().endswith(".db") for file in files):
            dumps, traces = traces, []
        if not dumps:
            continue
        journals = [journal for file in dumps if (journal := file.with_name(file.name + "-wal")).exists()]
        settings = [config] if config.is_file() else []
        sources.append(
            Source(
                path,
                READER,
                _device_of(path / "dump"),
                (*dumps, *traces, *journals, *settings),
                worker=named[1] if named else None,
                span=int(named[2]) if named else None,
                form=form,
                completeness=len(dumps),
            )
        )
    return sources


def _device_of(path: Path) -> int | None:
    """The number of the device whose directory a path lies in."""
    for part in reversed(path.parts[:-1]):
        match = _DEVICE.match(part)
        if match:
            return int(match[1]) if match[1].isdecimal() else None
    return None
