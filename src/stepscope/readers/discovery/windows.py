"""How the sources of one path form windows, which are runs, and ranks; ``several_paths.py`` has the rule for more."""

from __future__ import annotations

import itertools
import os
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from stepscope.facts.windows import windows_facts
from stepscope.readers.ascend.unparsed import note_unparsed
from stepscope.readers.discovery.detect import sources
from stepscope.readers.discovery.graph_captures import with_graph_captures
from stepscope.readers.discovery.pairs import paired
from stepscope.readers.discovery.recorded_together import processes, recorded_ns, simultaneous, together
from stepscope.readers.discovery.recorded_when import recorded_when
from stepscope.readers.discovery.source import Source
from stepscope.store.notes import Notes

Age = tuple[int, int, int, int, str]

_DIGITS: Final = re.compile(r"\d+")
_SUFFIX: Final = re.compile(r"(?:\.pt\.trace)?\.(?:json|pickle|pkl|db|sqlite|parquet)(?:\.gz)?$", re.IGNORECASE)


@dataclass
class Window:
    """One run: the sources of its ranks, and what there is to say about how they were found."""

    name: str
    sources: list[Source]
    notes: Notes = field(default_factory=Notes)

    @property
    def of_job(self) -> bool:
        """Whether it states how many ranks its job has."""
        return any(source.world_size is not None for source in self.sources)

    @property
    def is_damaged(self) -> bool:
        """Whether nothing in it can be read, as far as a look at it tells."""
        return all(source.is_damaged for source in self.sources)

    def say(self, notes: Notes) -> None:
        """Add what there is to say about more than this window."""
        for note in notes.all():
            self.notes.add(note.code, count=note.count, **note.params)


def windows(path: Path, form: str | None = None) -> list[Window]:
    """All windows of a capture, oldest first. ``form`` (text or db) chooses where a rank was written in both."""
    listed = sources(path)
    if path.is_file():
        return [Window(window_of_file(path), [_ranked(source) for source in listed])]
    notes = Notes()
    note_unparsed(path, listed, notes)
    listed = without_merged(without_copies(without_summaries(one_form_each(listed, form, notes))), notes)
    listed = with_graph_captures(paired(listed))
    grouped = windows_below(listed, path)
    for window in grouped:
        window.say(notes)
    return grouped


def windows_below(listed: list[Source], root: Path) -> list[Window]:
    """The windows that the sources below a directory form, oldest first."""
    by_directory: dict[Path, list[Source]] = defaultdict(list)
    of_file: dict[Path, list[Source]] = defaultdict(list)
    for source in listed:
        # A file that holds the ranks of a job is a window by itself, and one of which nothing tells whose it is.
        if source.part is not None or (source.is_damaged and source.rank is None):
            of_file[source.path].append(source)
        else:
            by_directory[source.path.parent].append(source)
    grouped = [Window(window_name(path, root), [_ranked(part) for part in parts]) for path, parts in of_file.items()]
    ranked: dict[Path, list[Source]] = {}
    numbered: set[Path] = set()
    for directory, members in by_directory.items():
        numbered |= {source.path for source in members if source.rank is None}
        if (at_once := _recorded_at_once(members)) is not None:
            for part in at_once:
                grouped += _windows_of_job(part, numbered, root)
            continue
        alone, own = _numbered(members)
        grouped += [Window(window_name(source.path, root), [_ranked(source)]) for source in alone]
        if own:
            ranked[directory] = own
    for members in _jobs(ranked, root):
        grouped += _windows_of_job(members, numbered, root)
    return oldest_first(_told_apart(grouped, root))


def _told_apart(grouped: list[Window], root: Path) -> list[Window]:
    """Windows of one name, such as those of a.json and a.json.gz, are called as their files."""
    several = {name for name, count in Counter(window.name for window in grouped).items() if count > 1}
    for window in grouped:
        path = window.sources[0].path
        if window.name in several and path.is_relative_to(root):
            window.name = str(path.relative_to(root))
    return grouped


def oldest_first(found: list[Window]) -> list[Window]:
    """Windows in the order of their age, for which their content is looked at where there are several.

    What was recorded beside a job comes before it: the process of a server that hands out requests is no rank, and
    writes its trace last.
    """
    if len(found) < 2:
        return found
    dated = sorted(map(_Dated.of, found), key=lambda own: own.age)
    jobs = [own for own in dated if own.window.of_job and own.ended_ns]
    ended = list(itertools.accumulate((job.ended_ns for job in jobs), max))

    def order(own: _Dated) -> tuple[bool, Age, bool]:
        at = bisect_right(ended, own.began_ns)  # the first job that had not ended by then
        beside = not own.window.of_job and at < len(jobs) and jobs[at].began_ns < own.ended_ns
        # What cannot be read is never the newest: that is the one to show.
        return not own.window.is_damaged, (jobs[at].age if beside else own.age), not beside

    return [own.window for own in sorted(dated, key=order)]


@dataclass(frozen=True)
class _Dated:
    """A window with what a look at its content tells of its time; 0 where that does not tell when it was recorded."""

    window: Window
    age: Age
    began_ns: int
    ended_ns: int

    @classmethod
    def of(cls, window: Window) -> _Dated:
        """Ages go by what the content says, then by names, then by the times of files.

        A window without any event or with marks alone comes before others, because the newest is the one that is shown.
        """
        recorded = [recorded_when(source) for source in window.sources]
        named = max((source.span or 0 for source in window.sources), default=0)
        written = max(source.path.stat().st_mtime_ns for source in window.sources)
        when = recorded_ns(window.sources[0], recorded[0])
        began = min((own.began_ns for own in recorded if own.began_ns), default=0)
        ended = max((own.ended_ns for own in recorded if own.ended_ns), default=0)
        return cls(window, (max(own.held for own in recorded), when, named, written, window.name), began, ended)


def window_of_file(path: Path) -> str:
    """The name of the only window of a capture that is one file."""
    return _stem(path.name)


def without_summaries(listed: list[Source]) -> list[Source]:
    """What a tool summed up over all ranks stands for itself only where no rank is there."""
    return [source for source in listed if source.reader != "cluster_analysis"] or listed


def without_copies(listed: list[Source]) -> list[Source]:
    """A trace that JAX wrote once more for another viewer stands for itself only where the first is gone."""
    profiled = {source.path.parent for source in listed if source.worker is not None and not _is_copy(source)}
    return [source for source in listed if not (_is_copy(source) and source.path.parent in profiled)]


def _is_copy(source: Source) -> bool:
    return source.worker == windows_facts().copied_worker


def without_merged(listed: list[Source], notes: Notes) -> list[Source]:
    """What a tool merged out of the traces of several ranks stands for itself only where these do not lie beside it."""
    alone: dict[tuple[Path, str], int] = defaultdict(int)
    merged: dict[Path, int] = defaultdict(int)
    for source in listed:
        if source.part is None:
            alone[source.path.parent, source.reader] += 1
        else:
            merged[source.path] += 1
    kept = []
    for source in listed:
        if source.part is None or alone[source.path.parent, source.reader] < merged[source.path]:
            kept.append(source)
        elif source.part == 0:
            notes.add("merged_left_out", file=source.path.name, ranks=merged[source.path])
    return kept


def one_form_each(found: list[Source], form: str | None, notes: Notes) -> list[Source]:
    """Of ranks that were written as text and as db, one form for all: the one asked for, else the more complete one.

    A rank that lacks the form of the others is read as it is.
    """
    by_place: dict[tuple[Path, int | None], list[Source]] = defaultdict(list)
    for source in found:
        by_place[source.path, source.rank].append(source)
    twice = [source for candidates in by_place.values() if len(candidates) > 1 for source in candidates]
    form = form or _more_complete(twice)
    chosen = []
    for candidates in by_place.values():
        asked = [source for source in candidates if form is None or source.form in (form, None)] or candidates
        best = max(asked, key=lambda source: source.completeness)
        if len(candidates) > 1 and best.form is not None:
            notes.add("form_chosen", form=best.form)
        chosen.append(best)
    return chosen


def _more_complete(sources: list[Source]) -> str | None:
    """The form in which more was written, over all ranks that were written in both."""
    complete: dict[str, int] = defaultdict(int)
    for source in sources:
        complete[source.form or ""] += source.completeness
    return max(complete, key=lambda form: complete[form], default=None) or None


def _recorded_at_once(members: list[Source]) -> list[list[Source]] | None:
    """The files of several workers that state no rank, numbered in groups that were recorded at the same time.

    None where that is no question, or where the content does not tell. Traces whose names differ only in numbers, as
    SGLang's do (1758-TP-0.trace.json.gz), may be those of workers.
    """
    if len({_DIGITS.sub("#", source.path.name) for source in members}) == 1:
        members = [
            replace(source, worker=source.path.name) if source.worker is None and source.reader == "kineto" else source
            for source in members
        ]
    workers = {source.worker for source in members}
    if len(workers) < 2 or None in workers or any(source.rank is not None for source in members):
        return None
    groups = simultaneous(members)
    if groups is None:
        return None
    by_worker = (sorted(group, key=lambda source: source.worker or "") for group in groups)
    return [[replace(source, rank=rank) for rank, source in enumerate(group)] for group in by_worker]


def _numbered(members: list[Source]) -> tuple[list[Source], list[Source]]:
    """Of one directory: the sources that stand alone, and those with a rank, which names of workers may give them."""
    unranked = sorted((source for source in members if source.rank is None), key=lambda source: source.worker or "")
    ranked = [source for source in members if source.rank is not None]
    if any(source.worker is None for source in unranked):
        return unranked, ranked
    writer = processes(unranked) if len(unranked) > 1 else {source.path: "" for source in unranked}
    number = {name: rank for rank, name in enumerate(dict.fromkeys(writer[source.path] for source in unranked))}
    return [], [*ranked, *(replace(source, rank=number[writer[source.path]]) for source in unranked)]


def _jobs(ranked: dict[Path, list[Source]], root: Path) -> list[list[Source]]:
    """Sources of several directories that belong to one job, by the size of the job too."""
    alike: dict[str, list[Path]] = defaultdict(list)
    for directory in ranked:
        inside = str(directory.relative_to(root)) if directory.is_relative_to(root) else str(directory)
        alike[_DIGITS.sub("#", inside)].append(directory)
    jobs = []
    for directories in alike.values():
        parts = [ranked[directory] for directory in directories]
        # node0 and node1, rank0 and rank1; but run1 and run2 hold the same ranks, and are two jobs.
        one = _disjoint(parts) or all(len(_ranks(part)) == 1 for part in parts)
        jobs += [[source for part in parts for source in part]] if one else parts
    stated = [part for part in jobs if {source.world_size for source in part} - {None, 1}]
    if len({source.world_size for part in stated for source in part}) == 1 and _disjoint(stated):
        others = [part for part in jobs if not any(part is each for each in stated)]
        jobs = [*others, [source for part in stated for source in part]]
    by_size: list[list[Source]] = []
    for part in jobs:
        for world in dict.fromkeys(source.world_size for source in part):
            by_size.append([source for source in part if source.world_size == world])
    return by_size


def _ranks(sources: list[Source]) -> set[int | None]:
    return {source.rank for source in sources}


def _disjoint(parts: list[list[Source]]) -> bool:
    """Whether no rank is in two of them."""
    return sum(len(_ranks(part)) for part in parts) == len({rank for part in parts for rank in _ranks(part)})


def _windows_of_job(members: list[Source], numbered: set[Path], root: Path) -> list[Window]:
    groups, guessed = together(members, root)
    of_job = []
    for group in groups:
        ordered = sorted(group, key=lambda source: source.rank or 0)
        alone = len(ordered) == 1 or len(groups) > 1
        directory = Path(os.path.commonpath([source.path.parent for source in ordered]))
        window = Window(window_name(ordered[0].path if alone else directory, root), ordered)
        if len(ordered) > 1:
            window.notes.add("rank_guessed", count=len(ordered) if {each.path for each in ordered} & numbered else 0)
            world = ordered[0].world_size or 0
            window.notes.add("ranks_missing", count=int(len(ordered) < world), present=len(ordered), world=world)
        window.notes.add("windows_guessed", count=int(guessed))
        of_job.append(window)
    return of_job


def _ranked(source: Source) -> Source:
    return source if source.rank is not None else replace(source, rank=0)


def window_name(path: Path, root: Path) -> str:
    """The name of a window that lies at a path below the capture."""
    inside = str(path.relative_to(root)) if path.is_relative_to(root) else "."
    return _stem(inside if inside != "." else root.name)


def _stem(name: str) -> str:
    return _SUFFIX.sub("", name)
