"""Which reader a file is for, and how the files of a capture form windows and ranks.

Two passes: the name says which files are worth opening, their first bytes say what they are.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from stepscope.errors import UnreadableInputError
from stepscope.readers import chrome, kineto
from stepscope.readers.raw_bytes import head, tail
from stepscope.readers.source import Source
from stepscope.store.notes import Notes

_TRACE_NAME: Final = re.compile(r"\.json(\.gz)?$", re.IGNORECASE)
_WORKER: Final = re.compile(r"^(.*?)(?:\.(\d+))?\.pt\.trace\.json(?:\.gz)?$")
_RANK_IN_NAME: Final = re.compile(r"rank[-_.]?(\d{1,9})", re.IGNORECASE)
_STATED_RANK: Final = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]*?"rank"\s*:\s*(\d{1,9})')
_STATED_WORLD: Final = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]*?"world_size"\s*:\s*(\d{1,9})')
_MOST_FILES: Final = 200_000


@dataclass
class Window:
    """One run: the sources of its ranks."""

    name: str
    sources: list[Source]
    notes: Notes = field(default_factory=Notes)

    @property
    def newest(self) -> tuple[int, int, str]:
        span = max((source.span or 0 for source in self.sources), default=0)
        return span, max(source.path.stat().st_mtime_ns for source in self.sources), self.name


def windows(path: Path) -> list[Window]:
    """All windows of a capture, oldest first. A file is one window of one rank."""
    try:
        if path.is_file():
            return [Window(_stem(path), [_ranked(_source(path, asked_for=True))])]
        if not path.is_dir():
            raise UnreadableInputError("no_such_path", path=str(path))
        sources = [source for file in _candidates(path) if (source := _source(file)) is not None]
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=error.strerror or str(error)) from error
    if not sources:
        raise UnreadableInputError("nothing_to_read", path=str(path))
    by_directory: dict[Path, list[Source]] = defaultdict(list)
    for source in sources:
        by_directory[source.path.parent].append(source)
    found = [_windows_of_directory(members, path) for members in by_directory.values()]
    return sorted(_join_rank_directories(found, path), key=lambda window: window.newest)


def _candidates(root: Path) -> Iterable[Path]:
    seen = 0
    for directory, folders, files in os.walk(root):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        for name in sorted(files):
            if _TRACE_NAME.search(name) and not name.startswith("."):
                seen += 1
                if seen > _MOST_FILES:
                    raise UnreadableInputError("too_many_files", path=str(root), limit=_MOST_FILES)
                yield Path(directory) / name


def _source(path: Path, asked_for: bool = False) -> Source | None:
    """The file as a source; None if it is no trace. A file that was asked for by name gets an explanation instead."""
    first = head(path) if asked_for or os.access(path, os.R_OK) else b""
    if not chrome.looks_like(first):
        if not asked_for:
            return None
        if not first:
            raise UnreadableInputError("empty_file", path=str(path))
        raise UnreadableInputError("unknown_format", path=str(path))
    rank = world = None
    reader = "kineto" if kineto.looks_like(first) else "chrome"
    if reader == "kineto":
        for text in (first, *(() if b'"distributedInfo"' in first else (tail(path),))):
            rank, world = _number(_STATED_RANK, text), _number(_STATED_WORLD, text)
            if rank is not None:
                break
    if rank is None:
        named = _RANK_IN_NAME.findall(path.name) or _RANK_IN_NAME.findall(path.parent.name)
        rank = int(named[-1]) if named else None
    worker = _WORKER.match(path.name)
    return Source(
        path,
        reader,
        rank,
        (path,),
        world,
        worker[1] if worker else None,
        int(worker[2]) if worker and worker[2] else None,
    )


def _windows_of_directory(sources: list[Source], root: Path) -> list[Window]:
    """Files of one directory: a window takes each rank once; what has no rank, and no worker, stands alone."""
    found: list[Window] = []
    unranked = [source for source in sources if source.rank is None]
    if unranked and all(source.worker is not None for source in unranked):
        workers = sorted({source.worker or "" for source in unranked})
        number = {worker: place for place, worker in enumerate(workers)}
        guessed = {source.path: replace(source, rank=number[source.worker or ""]) for source in unranked}
        sources = [guessed.get(source.path, source) for source in sources]
    else:
        guessed = {}
        found += [Window(_relative(source.path, root), [_ranked(source)]) for source in unranked]
    ranked = [source for source in sources if source.rank is not None]
    current: dict[int, Source] = {}
    groups = [current]
    for source in sorted(ranked, key=lambda source: (source.span or 0, source.path.name)):
        if source.rank in current or any(other.world_size != source.world_size for other in current.values()):
            current = {}
            groups.append(current)
        current[source.rank or 0] = source
    for members in filter(None, groups):
        ordered = [members[rank] for rank in sorted(members)]
        alone = len(ordered) == 1 or len(groups) > 1
        window = Window(_relative(ordered[0].path if alone else ordered[0].path.parent, root), ordered)
        if len(ordered) > 1 and any(source.path in guessed for source in ordered):
            window.notes.add("rank_guessed", count=len(ordered))
        found.append(window)
    return found


def _join_rank_directories(found: list[list[Window]], root: Path) -> list[Window]:
    """Directories that hold one rank each are one run, if they say so by rank or by world size."""
    singles = [group[0] for group in found if len(group) == 1 and len(group[0].sources) == 1]
    others = [window for group in found for window in group if not any(window is single for single in singles)]
    ranks = [window.sources[0].rank for window in singles]
    worlds = {window.sources[0].world_size for window in singles}
    said = all(_RANK_IN_NAME.search(window.sources[0].path.parent.name) for window in singles) or (worlds - {None, 1})
    if len(singles) > 1 and len(set(ranks)) == len(ranks) and len(worlds) == 1 and said:
        joined = sorted((window.sources[0] for window in singles), key=lambda source: source.rank or 0)
        return [
            *others,
            Window(_relative(Path(os.path.commonpath([source.path.parent for source in joined])), root), joined),
        ]
    return others + singles


def _ranked(source: Source | None) -> Source:
    assert source is not None
    return source if source.rank is not None else replace(source, rank=0)


def _relative(path: Path, root: Path) -> str:
    inside = path.relative_to(root)
    return _stem(inside) if inside.parts else _stem(root)


def _stem(path: Path) -> str:
    return re.sub(
        r"(\.pt\.trace)?\.json(\.gz)?$", "", str(path) if not path.is_absolute() else path.name, flags=re.IGNORECASE
    )


def _number(pattern: re.Pattern[bytes], text: bytes) -> int | None:
    found = pattern.search(text)
    return int(found[1]) if found else None
