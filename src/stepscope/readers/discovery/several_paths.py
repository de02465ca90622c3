"""How several given paths form one run, or several where they hold the same rank twice.

Each path alone forms windows by the rule of ``windows.py``; files of one directory form them together. Then the newest
windows of all paths are one run, those before them another, and so on.
"""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from stepscope.readers.ascend.unparsed import note_unparsed
from stepscope.readers.discovery.detect import sources
from stepscope.readers.discovery.graph_captures import with_graph_captures
from stepscope.readers.discovery.pairs import paired
from stepscope.readers.discovery.recorded_together import natural, simultaneous
from stepscope.readers.discovery.source import Source
from stepscope.readers.discovery.windows import (
    Window,
    oldest_first,
    one_form_each,
    window_name,
    windows_below,
    without_copies,
    without_summaries,
)
from stepscope.store.notes import Notes


def windows_of_all(paths: Sequence[Path], form: str | None = None) -> list[Window]:
    """All windows of several paths, oldest first; their order does not matter."""
    paths = sorted(set(paths))
    notes = Notes()
    sources_of_path = _each_once(paths)
    for path, members in sources_of_path.items():
        if path.is_dir():
            note_unparsed(path, members, notes)
    sources_of_path = {path: one_form_each(members, form, notes) for path, members in sources_of_path.items()}
    root = common_directory(paths)
    kept = without_copies(without_summaries([source for members in sources_of_path.values() for source in members]))
    paired_sources = with_graph_captures(paired(kept, across_directories=True))
    joined_of = {source.path: source for source in paired_sources}
    sources_of_path = {
        path: [joined_of[source.path] for source in members if source.path in joined_of]
        for path, members in sources_of_path.items()
    }
    beside = _beside_whole_job(sources_of_path)
    numbers = _numbers(sources_of_path) | dict.fromkeys(beside, 0)
    groups = _groups(sources_of_path, root, numbers, beside)
    joined = [window for layer in _layers(groups) for window in _joined(layer, root)]
    _name_apart(joined, root)
    joined = oldest_first(joined)
    names = [window.name for window in joined]
    for window in joined:
        guessed = sum(source.path in numbers for source in window.sources)
        if len(window.sources) > 1:
            window.notes.add("rank_guessed", count=guessed)
        absent = [path for path in paths if not any(belongs(source, path) for source in window.sources)]
        window.notes.add("paths_in_other_windows", count=len(absent), window=window.name, windows=", ".join(names))
        window.say(notes)
    return joined


def common_directory(paths: Sequence[Path]) -> Path:
    """The directory that holds all the paths."""
    return Path(os.path.commonpath([path if path.is_dir() else path.parent for path in paths]))


def belongs(source: Source, path: Path) -> bool:
    """Whether a source was found at a path."""
    return any(file.is_relative_to(path) for file in (source.path, *source.files))


def _each_once(paths: list[Path]) -> dict[Path, list[Source]]:
    """The sources of each path, without those that a path before it has: a directory stands before what is in it."""
    sources_of_path: dict[Path, list[Source]] = {}
    seen: set[tuple[str, Path]] = set()
    for path in paths:
        sources_of_path[path] = [
            source for source in sources(path) if not seen.issuperset((source.reader, file) for file in source.files)
        ]
        seen.update((source.reader, file) for source in sources_of_path[path] for file in source.files)
    return sources_of_path


def _beside_whole_job(sources_of_path: dict[Path, list[Source]]) -> set[Path]:
    """The files that state no rank beside those of all ranks of a job: a server's front end is not one rank more."""
    every = [source for members in sources_of_path.values() for source in members]
    worlds = {source.world_size for source in every} - {None}
    stated = {source.rank for source in every if source.world_size is not None}
    if len(worlds) != 1 or not stated.issuperset(range(min(world or 0 for world in worlds))):
        return set()
    return {source.path for source in every if source.rank is None and source.world_size is None}


def _numbers(sources_of_path: dict[Path, list[Source]]) -> dict[Path, int]:
    """Ranks for the sources that state none, by the names of their workers, else of the given paths.

    Those that were not recorded at the same time are no ranks of one window: each has the first number.
    """
    unranked = {source.path: (path, source) for path, members in sources_of_path.items() for source in members}
    unranked = {file: each for file, each in unranked.items() if each[1].rank is None}
    taken = {source.rank for members in sources_of_path.values() for source in members}
    groups = simultaneous([source for _, source in unranked.values()]) if len(unranked) > 1 else None
    numbers: dict[Path, int] = {}
    for group in groups or [[source for _, source in unranked.values()]]:
        worker_of = {source.path: source.worker or str(unranked[source.path][0]) for source in group}
        free = (number for number in itertools.count() if number not in taken)
        number_of = dict(zip(sorted(set(worker_of.values()), key=natural), free, strict=False))
        numbers |= {path: number_of[worker] for path, worker in worker_of.items()}
    return numbers


def _groups(
    sources_of_path: dict[Path, list[Source]], root: Path, numbers: dict[Path, int], beside: set[Path]
) -> Iterator[tuple[Path, list[Window]]]:
    """The windows of each given directory, and of the given files of each, with the directory that holds them."""
    files: dict[Path, list[Source]] = defaultdict(list)
    for path, members in sources_of_path.items():
        if path.is_dir():
            windows = windows_below(members, root)
            for window in windows:
                numbered = [replace(each, rank=numbers.get(each.path, each.rank)) for each in window.sources]
                window.sources = sorted(numbered, key=lambda source: source.rank or 0)
                window.notes = Notes()  # how many were numbered is counted over all paths
            yield path.parent, windows
        else:
            files[path.parent] += [replace(source, rank=numbers.get(source.path, source.rank)) for source in members]
    for directory, members in files.items():
        yield directory, windows_below(_of_one_size(members, beside), root)


def _of_one_size(members: list[Source], beside: set[Path]) -> list[Source]:
    """A file that was named beside the others need not say itself that it belongs to their job."""
    stated = {source.world_size for source in members} - {None}
    if len(stated) != 1:
        return members
    (world,) = stated
    return [source if source.path in beside else replace(source, world_size=world) for source in members]


def _layers(groups: Iterator[tuple[Path, list[Window]]]) -> list[list[tuple[Path, Window]]]:
    """The newest windows of all groups, then those before them, and so on."""
    newest_first = [[(directory, window) for window in reversed(windows)] for directory, windows in groups]
    return [
        [each for each in layer if each is not None] for layer in itertools.zip_longest(*newest_first, fillvalue=None)
    ]


def _joined(layer: list[tuple[Path, Window]], root: Path) -> list[Window]:
    """One run, if every rank is there once; else one per directory in which that holds; else each by itself."""
    windows = [window for _, window in layer]
    if len(windows) == 1:
        return windows
    if _fit(windows):
        members = sorted((source for window in windows for source in window.sources), key=lambda each: each.rank or 0)
        directory = Path(os.path.commonpath([source.path.parent for source in members]))
        return [Window(window_name(directory, root), members)]
    directories = {directory for directory, _ in layer}
    if len(directories) == 1:
        return windows
    return [run for one in sorted(directories) for run in _joined([each for each in layer if each[0] == one], root)]


def _fit(windows: list[Window]) -> bool:
    ranks = [source.rank for window in windows for source in window.sources]
    worlds = {source.world_size for window in windows for source in window.sources} - {None}
    return len(set(ranks)) == len(ranks) and len(worlds) <= 1


def _name_apart(windows: list[Window], root: Path) -> None:
    """Several windows at one place are named by their first source, as they are within one directory."""
    names = [window.name for window in windows]
    for window in windows:
        if names.count(window.name) > 1 or not window.name:
            window.name = window_name(window.sources[0].path, root)
