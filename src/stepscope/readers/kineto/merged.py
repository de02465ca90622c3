"""Traces of several ranks in one file, told apart by what the tool that merged them put before each process's number.

SGLang (srt/utils/profile_merger.py) writes "[TP00-DP01] 4242" where the rank's own trace has 4242.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from stepscope.readers.discovery.source import Source
from stepscope.readers.files.raw_bytes import blocks, head
from stepscope.store.notes import Notes

_LABEL: Final = r"\[[A-Z]{1,4}\d{1,6}(?:-[A-Z]{1,4}\d{1,6}){0,7}\]"
_LABELLED: Final = re.compile(rf'"pid"\s*:\s*"({_LABEL}) '.encode())
_LONGEST_BYTES: Final = 1 << 8  # of what the pattern matches
_MOST_RANKS: Final = 128  # each reads the whole file; more are no merged trace

#: Gives the number that the rank's own trace has for a process, None for one of another rank.
OwnProcess = Callable[[Any], Any]


def parts(source: Source) -> list[Source]:
    """One source per rank, in the order in which the file names them; the file as a whole where it names none."""
    if _LABELLED.search(head(source.path)) is None:
        return [source]
    world = len(_labels(source.path))
    if world > _MOST_RANKS:
        return [source]
    return [replace(source, rank=rank, part=rank, world_size=world) for rank in range(world)]


def own_process(source: Source) -> OwnProcess | None:
    """Which processes of the file belong to the source, where it is one of several in it."""
    if source.part is None:
        return None
    label = f"{_labels(source.path)[source.part]} "

    def own(process: Any) -> Any:
        if not isinstance(process, str) or not process.startswith(label):
            return None
        number = process.removeprefix(label)
        return int(number) if number.isdecimal() and len(number) < 10 else number

    return own


def _labels(path: Path) -> list[str]:
    """All labels of a file, as they appear."""
    seen: dict[bytes, None] = {}
    before = b""
    for block in blocks(path, Notes()):
        text = before + block
        for found in _LABELLED.finditer(text):
            seen[found[1]] = None
        if len(seen) > _MOST_RANKS:
            break
        before = text[-_LONGEST_BYTES:]
    return [label.decode() for label in seen]
