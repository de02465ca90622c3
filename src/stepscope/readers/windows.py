"""How the sources of one path form windows, which are runs, and ranks; ``several_paths.py`` has the rule for more."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from stepscope.readers.detect import sources
from stepscope.readers.source import RANK_IN_NAME, Source
from stepscope.store.notes import Notes

_SUFFIX: Final = re.compile(r"(?:\.pt\.trace)?\.(?:json|pickle|pkl|db)(?:\.gz)?$", re.IGNORECASE)


@dataclass
class Window:
    """One run: the sources of its ranks, and what there is to say about how they were found."""

    name: str
    sources: list[Source]
    notes: Notes = field(default_factory=Notes)

    @property
    def age(self) -> tuple[int, int, str]:
        """Sorts windows, oldest first: by what their names say, then by the time of their files."""
        span = max((source.span or 0 for source in self.sources), default=0)
        return span, max(source.path.stat().st_mtime_ns for source in self.sources), self.name

    def say(self, notes: Notes) -> None:
        """Add what there is to say about more than this window."""
        for note in notes.all():
            self.notes.add(note.code, count=note.count, **note.params)


def windows(path: Path, form: str | None = None) -> list[Window]:
    """All windows of a capture, oldest first. ``form`` (text or db) chooses where a rank was written in both."""
    found = sources(path)
    if path.is_file():
        return [Window(window_of_file(path), [_ranked(source) for source in found])]
    notes = Notes()
    found = without_summaries(one_form_each(found, form, notes))
    grouped = windows_below(found, path)
    for window in grouped:
        window.say(notes)
    return grouped


def windows_below(found: list[Source], root: Path) -> list[Window]:
    """The windows that the sources below a directory form, oldest first."""
    by_directory: dict[Path, list[Source]] = defaultdict(list)
    for source in found:
        by_directory[source.path.parent].append(source)
    groups = [_windows_of_directory(members, root) for members in by_directory.values()]
    return sorted(_join_rank_directories(groups, root), key=lambda window: window.age)


def window_of_file(path: Path) -> str:
    """The name of the only window of a capture that is one file."""
    return _stem(path.name)


def without_summaries(found: list[Source]) -> list[Source]:
    """What a tool summed up over all ranks stands for itself only where no rank is there."""
    return [source for source in found if source.reader != "cluster_analysis"] or found


def one_form_each(found: list[Source], form: str | None, notes: Notes) -> list[Source]:
    """Of a rank that was written as text and as db, the form that was asked for, else the more complete one."""
    by_place: dict[tuple[Path, int | None], list[Source]] = defaultdict(list)
    for source in found:
        by_place[source.path, source.rank].append(source)
    chosen = []
    for candidates in by_place.values():
        asked = [source for source in candidates if form is None or source.form in (form, None)] or candidates
        best = max(asked, key=lambda source: source.completeness)
        if len(candidates) > 1 and best.form is not None:
            notes.add("form_chosen", form=best.form)
        chosen.append(best)
    return chosen


def _windows_of_directory(members: list[Source], root: Path) -> list[Window]:
    """Of one directory: a window takes each rank once; what has neither rank nor worker stands alone."""
    found: list[Window] = []
    guessed: set[Path] = set()
    unranked = [source for source in members if source.rank is None]
    if unranked and all(source.worker is not None for source in unranked):
        number = {worker: place for place, worker in enumerate(sorted({source.worker or "" for source in unranked}))}
        guessed = {source.path for source in unranked}
        members = [
            replace(source, rank=number[source.worker or ""]) if source.rank is None else source for source in members
        ]
    else:
        found += [Window(window_name(source.path, root), [_ranked(source)]) for source in unranked]
    current: dict[int, Source] = {}
    groups = [current]
    for source in sorted(members, key=lambda source: (source.span or 0, source.path.name)):
        if source.rank is None:
            continue
        if source.rank in current or any(other.world_size != source.world_size for other in current.values()):
            current = {}
            groups.append(current)
        current[source.rank] = source
    for group in filter(None, groups):
        ordered = [group[rank] for rank in sorted(group)]
        alone = len(ordered) == 1 or len(groups) > 1
        window = Window(window_name(ordered[0].path if alone else ordered[0].path.parent, root), ordered)
        if len(ordered) > 1 and any(source.path in guessed for source in ordered):
            window.notes.add("rank_guessed", count=len(ordered))
        found.append(window)
    return found


def _join_rank_directories(groups: list[list[Window]], root: Path) -> list[Window]:
    """Directories that hold one rank each are one run, if they say so by rank or by world size."""
    singles = [group[0] for group in groups if len(group) == 1 and len(group[0].sources) == 1]
    others = [window for group in groups for window in group if not any(window is single for single in singles)]
    ranks = [window.sources[0].rank for window in singles]
    worlds = {window.sources[0].world_size for window in singles}
    said = all(RANK_IN_NAME.search(window.sources[0].path.parent.name) for window in singles) or (worlds - {None, 1})
    if len(singles) > 1 and len(set(ranks)) == len(ranks) and len(worlds) == 1 and said:
        members = sorted((window.sources[0] for window in singles), key=lambda source: source.rank or 0)
        place = Path(os.path.commonpath([source.path.parent for source in members]))
        return [*others, Window(window_name(place, root), members)]
    return others + singles


def _ranked(source: Source) -> Source:
    return source if source.rank is not None else replace(source, rank=0)


def window_name(path: Path, root: Path) -> str:
    """The name of a window that lies at a path below the capture."""
    inside = str(path.relative_to(root)) if path.is_relative_to(root) else "."
    return _stem(inside if inside != "." else root.name)


def _stem(name: str) -> str:
    return _SUFFIX.sub("", name)
