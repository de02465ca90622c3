"""Reads the ranks that a stored run lacks, and makes the stored run of all of them: whole, or not at all."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Generator
from concurrent.futures import Executor
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import polars as pl

from stepscope.engine import rank_task
from stepscope.engine.engines import failure_of_engine
from stepscope.engine.local import run_tasks
from stepscope.engine.merge import merge
from stepscope.engine.rank_task import RankTask
from stepscope.engine.wanted import Wanted
from stepscope.errors import StepscopeError, UnreadableInputError, internal, is_panic
from stepscope.readers.discovery.pairs import formats
from stepscope.readers.discovery.several_paths import belongs, common_directory
from stepscope.readers.discovery.windows import Window
from stepscope.store.notes import Note, Notes
from stepscope.store.run_store import Manifest, Part, RunStore, discard, save
from stepscope.version import __version__

Progress = Callable[[int, int], None]  # bytes done, bytes in all


@runtime_checkable
class TellsRanks(Protocol):
    """A progress that also shows how many ranks are done."""

    def tell_ranks(self, done: int, total: int) -> None: ...


# Several ranks in one file of this size are read in this process: starting others would take as long.
_SMALL_BYTES: Final = 4 << 20


def complete(
    wanted: Wanted,
    directory: Path,
    old: RunStore | None,
    kept: list[Part],
    finished: list[Part],
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> tuple[RunStore, list[Part]]:
    """Read what is missing: the new stored run, from kept and newly read ranks, and the parts that were read.

    ``finished`` are those that an earlier attempt read before it was interrupted. An interruption keeps what is read.
    """
    attempt = uuid.uuid4().hex
    kept_sources = {(part.rank, part.source) for part in kept + finished}
    tasks = [
        RankTask(source, wanted.prints[source], directory, attempt)
        for source in wanted.window.sources
        if (source.rank or 0, str(source.path)) not in kept_sources
    ]
    try:
        notes = _notes_of_window(wanted.window)
        read, failures = _run(tasks, notes, progress, executor)
        _check_shared(directory, read, executor)
        read = finished + read
        if (error := _fatal(wanted, kept + read, failures)) is not None:
            raise error
        return _stored(wanted, directory, attempt, old, kept, read, notes), read
    except BaseException as error:
        # A failure leaves nothing behind; an interrupted read can continue later.
        discard(directory, attempt, finished_too=isinstance(error, Exception))
        raise


def _check_shared(directory: Path, read: list[Part], executor: Executor | None) -> None:
    """Workers on another machine may have written to a disk that is not shared with this one."""
    if executor is not None and any(not (directory / name).exists() for part in read for name in part.files()):
        raise UnreadableInputError("store_not_shared", store=str(directory))


def _stored(
    wanted: Wanted,
    directory: Path,
    attempt: str,
    old: RunStore | None,
    kept: list[Part],
    read: list[Part],
    notes: Notes,
) -> RunStore:
    paths = wanted.paths
    try:
        merged = merge(directory, attempt, kept, read, notes.all(), old)
        parts = sorted(kept + read, key=lambda part: part.rank)
        capture = str(paths[0] if len(paths) == 1 else common_directory(paths))
        manifest = Manifest(capture, wanted.window.name, parts, merged, written_by=__version__)
        return save(directory, manifest, old.manifest if old else None)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableInputError("cannot_write_store", store=str(directory), reason=reason) from error
    except BaseException as error:
        if is_panic(error):
            raise internal(error) from None
        raise


def mended(wanted: Wanted, old: RunStore, read: list[Part]) -> list[Note]:
    """Notes on ranks that were read again although their source has not changed."""
    known = old.manifest.contents() & wanted.contents()
    return [Note("store_mended", {"rank": part.rank}, rank=part.rank) for part in read if part.identity() in known]


def _notes_of_window(window: Window) -> Notes:
    notes = Notes()
    for note in window.notes.all():
        notes.add(note.code, count=note.count, **note.params)
    if len(names := formats(window.sources)) > 1:
        notes.add("mixed_formats", formats=", ".join(names))
    return notes


def _fatal(wanted: Wanted, parts: list[Part], failures: dict[Path, StepscopeError]) -> StepscopeError | None:
    """The error of a path at which something failed and nothing could be read."""
    good = {part.source for part in parts}
    for path in wanted.paths:
        here = [source for source in wanted.window.sources if len(wanted.paths) == 1 or belongs(source, path)]
        failed = [failures[source.path] for source in here if source.path in failures]
        if failed and not any(str(source.path) in good for source in here):
            return failed[0]
    return None


def _small_parts(tasks: list[RankTask]) -> bool:
    """Whether all ranks are in one small file: starting processes would cost more than reading them."""
    paths = {task.source.path for task in tasks}
    return len(paths) == 1 and tasks[0].source.part is not None and tasks[0].source.bytes <= _SMALL_BYTES


def _run(
    tasks: list[RankTask], notes: Notes, progress: Progress | None, executor: Executor | None
) -> tuple[list[Part], dict[Path, StepscopeError]]:
    """Read the sources: the parts read, and the errors of the others, which are noted."""
    sizes = {task.source.path: task.source.bytes for task in tasks}
    total, done, ranks_done = sum(sizes.values()), 0, 0

    def on_read(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    def outcomes() -> Generator[tuple[RankTask, Part | Exception]]:
        if executor is None and (len(tasks) == 1 or _small_parts(tasks)):
            for task in tasks:
                try:
                    yield task, rank_task.run(task, on_read if len(tasks) == 1 else None)
                except StepscopeError as error:
                    yield task, error
            return
        for task, result in run_tasks(rank_task.run, tasks, executor, lambda: on_read(0)):
            on_read(sizes[task.source.path])
            yield task, result

    read: list[Part] = []
    failures: dict[Path, StepscopeError] = {}
    # Closed before the failure is reported: other ranks may still be writing.
    with contextlib.closing(outcomes()) as finished:
        for task, outcome in finished:
            result = outcome if isinstance(outcome, Part) else failure_of_engine(outcome) or outcome
            ranks_done += 1
            if isinstance(progress, TellsRanks):
                progress.tell_ranks(ranks_done, len(tasks))
            if isinstance(result, Part):
                read.append(result)
            elif isinstance(result, StepscopeError) and result.code != "cannot_write_store":
                failures[task.source.path] = result
                notes.add("rank_unreadable", file=str(task.source.path), rank=task.source.rank, **result.as_reason())
            else:
                raise result
    return read, failures
