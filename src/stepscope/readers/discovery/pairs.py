"""A trace and a memory snapshot that one process wrote: two files, one rank.

The files do not name their process, so their names must tell: the same name without endings, the same rank in one
directory, or the host and process id that the PyTorch profiler puts into the name of a trace.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import Final

from stepscope.readers.discovery.source import Source

TRACE: Final = "kineto"
SNAPSHOT: Final = "memory_snapshot"
BOTH: Final = "trace_and_snapshot"

_ENDINGS: Final = re.compile(r"(?:\.pt)?(?:[._-]trace)?\.json(?:\.gz)?$|\.(?:pickle|pkl)(?:\.gz)?$", re.IGNORECASE)
_SNAPSHOT_WORDS: Final = re.compile(r"[._-](?:memory|mem)?[._-]?snapshot$", re.IGNORECASE)

Key = Callable[[Source], Hashable | None]


def paired(listed: list[Source], across_directories: bool = False) -> list[Source]:
    """The same sources, with each trace that has a snapshot made one source with it.

    Names of files in different directories count only where the user gave the files themselves.
    """
    keys: list[Key] = [_name_in_directory, _process_in_directory, _rank_in_directory]
    for key in [*keys, _name] if across_directories else keys:
        listed = _paired_by(key, listed)
    return listed


def formats(sources: list[Source]) -> list[str]:
    """Names of the formats of sources; a trace with a snapshot is a trace."""
    return sorted({TRACE if source.reader == BOTH else source.reader for source in sources})


def _paired_by(key: Key, listed: list[Source]) -> list[Source]:
    """Pairs where exactly one trace and one snapshot have the same key, and neither states another rank."""
    candidates = {
        reader: [(key(source), source) for source in listed if source.reader == reader and key(source) is not None]
        for reader in (TRACE, SNAPSHOT)
    }
    traces = dict(candidates[TRACE])
    seen = Counter((reader, each) for reader, members in candidates.items() for each, _ in members)
    snapshot_of: dict[Path, Source] = {}
    for each, snapshot in candidates[SNAPSHOT]:
        trace = traces.get(each)
        if trace is None or seen[TRACE, each] > 1 or seen[SNAPSHOT, each] > 1:
            continue
        if None in (trace.rank, snapshot.rank) or trace.rank == snapshot.rank:
            snapshot_of[trace.path] = snapshot
    used = {snapshot.path for snapshot in snapshot_of.values()}
    return [
        _both(source, snapshot_of[source.path]) if source.path in snapshot_of else source
        for source in listed
        if source.path not in used
    ]


def _both(trace: Source, snapshot: Source) -> Source:
    rank = trace.rank if trace.rank is not None else snapshot.rank
    return replace(trace, reader=BOTH, rank=rank, files=(*trace.files, *snapshot.files))


def _name(source: Source) -> str:
    """What is left of a file's name without its endings.

    >>> [_name(Source(Path(name), "", None, ())) for name in ("a.pt.trace.json.gz", "a.json", "a.snapshot.pickle")]
    ['a', 'a', 'a']
    """
    return _SNAPSHOT_WORDS.sub("", _ENDINGS.sub("", source.path.name))


def _name_in_directory(source: Source) -> tuple[Path, str]:
    return source.path.parent, _name(source)


def _process_in_directory(source: Source) -> tuple[Path, str] | None:
    """Host and process id: a trace ``host_123.1700000000.pt.trace.json`` has them before the time."""
    name = _name(source) if source.reader == SNAPSHOT else source.worker
    return None if name is None else (source.path.parent, name)


def _rank_in_directory(source: Source) -> tuple[Path, int] | None:
    return None if source.rank is None else (source.path.parent, source.rank)
