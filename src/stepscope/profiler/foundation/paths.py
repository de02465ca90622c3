"""Questions about paths, and making them, without loss of the job's exceptions: ``pathlib`` swallows some kinds."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from stepscope.profiler.foundation.own_faults import ours


def exists(path: Path) -> bool:
    """Whether something is there."""
    return _mode(path) is not None


def is_directory(path: Path) -> bool:
    """Whether a directory is there."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def make_directory(path: Path, mode: int = 0o750) -> None:
    """Together with those above it; one that is there stays as it is."""
    if is_directory(path):
        return
    if not exists(path.parent):
        make_directory(path.parent, 0o777)
    try:
        path.mkdir(mode)
    except ours(FileExistsError):
        if not is_directory(path):
            raise


def bytes_below(directory: Path) -> int:
    """The size of all files below a directory; what goes meanwhile counts nothing."""
    total = 0
    folders = [str(directory)]
    while folders:
        for entry in _entries(folders.pop()):
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
            except ours(OSError):
                continue
    return total


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder; nothing if it is gone."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except ours(OSError):
        return []


def _mode(path: Path) -> int | None:
    try:
        return os.stat(path).st_mode  # noqa: PTH116 (pathlib's own questions swallow every ValueError)
    except ours(FileNotFoundError, NotADirectoryError):
        return None
