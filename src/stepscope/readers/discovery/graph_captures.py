"""Traces in which graphs were captured, as servers write them beside the traces in which they are launched."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from stepscope.errors import UnreadableInputError
from stepscope.facts.kineto import kineto_facts
from stepscope.readers.discovery.pairs import BOTH, TRACE
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.raw_bytes import words_inside

_BEGINS: Final = b"StreamBeginCapture"
_LAUNCHES: Final = b'GraphLaunch"'


def with_graph_captures(listed: list[Source]) -> list[Source]:
    """The same sources, with the traces of captures given to the traces that lie beside or above them.

    Those of another rank are taken where a rank has none: servers record the captures of their first rank only.
    """
    traces = [source for source in listed if source.reader in (TRACE, BOTH)]
    folders = {source.path.parent for source in traces}
    captures = [source for source in traces if source.reader == TRACE and _named_so(source.path, folders)]
    if not captures or len(captures) == len(traces):
        return listed
    captures = [source for source in captures if _captures(source.path)]
    apart = {source.path for source in captures}
    launching = [source for source in traces if source.path not in apart]
    captures_of = {source.path: _beside(source, captures) for source in launching}
    used = {capture for beside in captures_of.values() for capture in beside}
    return [_joined(source, captures_of.get(source.path, ())) for source in listed if source.path not in used]


def _beside(source: Source, captures: list[Source]) -> tuple[Path, ...]:
    """The captures in the directory of a trace, or in a directory of their own below it."""
    here = source.path.parent
    beside = [capture for capture in captures if here in (capture.path.parent, capture.path.parent.parent)]
    own = [capture for capture in beside if capture.rank == source.rank]
    return tuple(sorted(capture.path for capture in own or beside))


def _joined(source: Source, captures: tuple[Path, ...]) -> Source:
    return replace(source, files=(*source.files, *captures), graph_captures=captures) if captures else source


def _named_so(path: Path, folders: set[Path]) -> bool:
    """Whether a trace, or a folder of its own below one with traces, is called after captures of graphs.

    People call the folder of a whole job so, too.
    """
    pattern = kineto_facts().graphs.capture_names
    apart = path.parent.parent in folders
    return bool(re.search(pattern, path.name) or (apart and re.search(pattern, path.parent.name)))


def _captures(path: Path) -> bool:
    """Whether a trace captures graphs and launches none: its text tells, which need not be understood for that."""
    try:
        return words_inside(path, (_BEGINS, _LAUNCHES)) == {_BEGINS}
    except (OSError, UnreadableInputError):
        return False
