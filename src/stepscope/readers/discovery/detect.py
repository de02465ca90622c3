"""Which reader is for what: finds the sources of a capture.

Two passes: names say which directories and files are worth a look, their first bytes say what they are. A reader may
claim a directory with all that lies below it, or single files; each is asked in turn.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.recognised import only_recognised, recognised_file
from stepscope.readers.discovery.source import Source, named_rank
from stepscope.readers.files.raw_bytes import head

# Dumps of PyTorch's flight recorder end in the rank; logs of NCCL's inspector are named after host and process.
_LOOSE_FILE: Final = re.compile(
    r"\.(?:jsonl?|pickle|pkl|db|sqlite|parquet)(?:\.gz)?$|trace_rank_\d{1,9}$|_dump_\d{1,9}$|-pid\d+\.log$",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\d+")
_MOST_FILES: Final = 200_000


def sources(path: Path) -> list[Source]:
    """All sources at or below a path. A file that was named itself gets an explanation if it is none."""
    try:
        if path.is_file():
            return _parts(_named_file(path))
        if not path.is_dir():
            raise UnreadableInputError("not_a_file" if path.exists() else "no_such_path", path=str(path))
        sources_below = list(_below(path))
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=error.strerror or str(error)) from error
    if not sources_below:
        from stepscope.readers.ascend.unparsed import only_unparsed

        raise only_unparsed(path) or only_recognised(path) or UnreadableInputError("nothing_to_read", path=str(path))
    return sources_below


def _named_file(path: Path) -> Source:
    first = head(path)
    source = _claim_file(path, first)
    if source is not None:
        return source
    if (recognised := recognised_file(path, first)) is not None:
        raise recognised
    if (whole := _capture_around(path)) is not None:
        return whole
    raise UnreadableInputError("unknown_format" if first else "empty_file", path=str(path))


def _capture_around(path: Path) -> Source | None:
    """The capture of a rank that a file is a part of, such as profiler_info_0.json, which tells nothing alone."""
    with os.scandir(path.parent) as entries:
        listed = sorted((entry.name, entry.is_dir()) for entry in entries)
    folders, files = ([name for name, is_folder in listed if is_folder is wanted] for wanted in (True, False))
    around = [source for source in _claim(path.parent, folders, files) if path in source.files]
    return max(around, key=lambda source: source.completeness, default=None)


def _below(root: Path) -> Iterator[Source]:
    seen = 0
    for below, folders, files in os.walk(root):
        directory = Path(below)
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        files[:] = [name for name in files if not _is_pipe_or_device(directory / name)]
        claimed = _claim(directory, folders, files)
        if claimed:
            folders.clear()
            yield from claimed
            continue
        loose = [directory / name for name in sorted(files) if not name.startswith(".") and _LOOSE_FILE.search(name)]
        seen += len(loose)
        if seen > _MOST_FILES:
            raise UnreadableInputError("too_many_files", path=str(root), limit=_MOST_FILES)
        source_of_file = {path: _loose_file(path) for path in loose}
        yield from (part for source in source_of_file.values() if source is not None for part in _parts(source))
        yield from _damaged(source_of_file)


def _is_pipe_or_device(path: Path) -> bool:
    """Whether opening a path might wait for ever for somebody who writes."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _loose_file(path: Path) -> Source | None:
    """A file that nobody named: if it cannot even be looked at, its rank's reader will say why."""
    if not os.access(path, os.R_OK):
        return None
    try:
        return _claim_file(path, head(path))
    except UnreadableInputError:
        rank = named_rank(path)
        return None if rank is None else Source(path, "chrome", rank, (path,))


def _damaged(source_of_file: dict[Path, Source | None]) -> Iterator[Source]:
    """Files that are no capture, but are called like those beside them: the reader will say what is wrong with them."""
    good = {_NUMBER.sub("#", path.name): source for path, source in source_of_file.items() if source is not None}
    for path, source in source_of_file.items():
        like = good.get(_NUMBER.sub("#", path.name)) if source is None else None
        if like is not None:
            yield Source(path, like.reader, named_rank(path), (path,), world_size=like.world_size, is_damaged=True)


def _claim(directory: Path, folders: list[str], files: list[str]) -> list[Source]:
    """What the first reader that wants the directory finds there; a second one only if it reads another form of it."""
    from stepscope.readers.formats import READERS  # opening a known capture needs none of them

    claimed: list[Source] = []
    for reader in READERS.values():
        own = reader.claim(directory, folders, files) or []
        if not claimed or all(source.form is not None for source in (*claimed, *own)):
            claimed += own
    return claimed


def _parts(source: Source) -> list[Source]:
    """The ranks in one file, where its format may hold several."""
    from stepscope.readers.formats import READERS

    split = getattr(READERS[source.reader], "parts", None)
    return [source] if split is None else split(source)


def _claim_file(path: Path, first: bytes) -> Source | None:
    from stepscope.readers.formats import READERS

    for reader in READERS.values():
        if (source := reader.claim_file(path, first)) is not None:
            return source
    return None
