"""Captures of Ascend devices that were recorded but never parsed: only their maker's tools can read what they hold."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from stepscope.errors import UnreadableInputError
from stepscope.facts.ascend_parsing import ascend_parsing_facts
from stepscope.readers.ascend.rank_directory import FRAMEWORK_FOLDER, describe, is_rank_directory
from stepscope.readers.discovery.source import Source
from stepscope.store.notes import Notes

_PROF: Final = re.compile(r"PROF_\d+_\d+_[0-9A-Za-z]+")
_RAW: Final = re.compile(r"host|device_\d{1,9}")
_MSPROF: Final = "msprof"


def unparsed(directory: Path, folders: Iterable[str], files: Iterable[str]) -> str | None:
    """Who recorded the raw capture that this directory is (pytorch, mindspore or msprof); None if it is none."""
    folders, files = list(folders), list(files)
    if is_rank_directory(directory, folders, files):
        raw = FRAMEWORK_FOLDER in folders or any(map(_PROF.fullmatch, folders))
        return _framework(directory, files) or _MSPROF if raw else None
    return _MSPROF if _PROF.fullmatch(directory.name) and any(map(_RAW.fullmatch, folders)) else None


def unparsed_below(root: Path, sources: Iterable[Source] = ()) -> dict[Path, str]:
    """The raw captures at or below a path of which no reader found anything, and who recorded each."""
    read = {source.path for source in sources}
    around = {parent for path in read for parent in path.parents}
    raw: dict[Path, str] = {}
    for below, folders, files in os.walk(root):
        directory = Path(below)
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        maker = None if directory in read or directory in around else unparsed(directory, folders, files)
        if maker is not None:
            raw[directory] = maker
        if maker is not None or directory in read:
            folders.clear()
    return raw


def only_unparsed(root: Path) -> UnreadableInputError | None:
    """Why nothing at a path can be read, where that is because nobody parsed it."""
    raw = unparsed_below(root)
    if not raw:
        return None
    command = "; ".join(command for _, _, command in _commands(raw))
    return UnreadableInputError("ascend_not_parsed", path=str(root), count=len(raw), command=command)


def note_unparsed(root: Path, sources: Iterable[Source], notes: Notes) -> None:
    """Say which raw captures lie beside those that are read."""
    for count, first, command in _commands(unparsed_below(root, sources)):
        notes.add("ascend_not_parsed", count=count, first=first, command=command)


def _commands(raw: dict[Path, str]) -> Iterator[tuple[int, str, str]]:
    """For each maker: how many, the name of the first, and what parses them."""
    by_maker: dict[str, list[Path]] = defaultdict(list)
    for directory, maker in raw.items():
        by_maker[maker].append(directory)
    for maker, directories in by_maker.items():
        common = os.path.commonpath(directories)
        command: str = ascend_parsing_facts().commands[maker]
        yield len(directories), directories[0].name, command.replace("{path}", common)


def _framework(directory: Path, files: list[str]) -> str | None:
    """By the directory's name, else by the names of the framework's raw files."""
    if (stated := describe(directory, files).framework) is not None:
        return stated
    makers: dict[str, str] = ascend_parsing_facts().first_words
    try:
        names = sorted(file.name for file in (directory / FRAMEWORK_FOLDER).iterdir())
    except OSError:
        return None
    return next((makers[word] for name in names if (word := name.split(".")[0]) in makers), None)
