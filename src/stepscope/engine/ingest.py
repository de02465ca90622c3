"""From a capture to a stored run: what is new is read, rank by rank; what is known is kept."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.engine.found import find_windows
from stepscope.errors import StepscopeError, UnreadableInputError, UsageError
from stepscope.readers.discovery.pairs import formats
from stepscope.readers.discovery.several_paths import belongs, common_directory
from stepscope.readers.discovery.windows import Window, window_of_file
from stepscope.store.fingerprint import fingerprint
from stepscope.store.location import directory_of, only_writer, resolved
from stepscope.store.notes import Notes
from stepscope.store.run_store import (
    Manifest,
    Part,
    RunStore,
    open_store,
    save,
    sweep,
)
from stepscope.version import __version__

if TYPE_CHECKING:  # opening what was read before needs nothing of this
    from stepscope.engine.rank_task import RankTask

Progress = Callable[[int, int], None]  # bytes done, bytes in all


@dataclass
class Ingested:
    """What an ingest did."""

    store: RunStore
    paths: list[Path]
    windows: list[str]
    read: list[Part]  # what was read anew
    seconds: float


def ingest(
    capture: Path | Sequence[Path],
    window: str | None = None,
    store: Path | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    again: bool = False,
    form: str | None = None,
) -> Ingested:
    """The stored run of a window of a capture, which is one path or several, made or completed if need be.

    ``again`` reads all anew; ``form`` (text or db) chooses where a rank was written in both.
    """
    began = time.perf_counter()
    paths = resolved([capture] if isinstance(capture, Path) else capture)
    if not paths:
        raise UsageError("no_path")
    known = None if again else _known_file(paths, window, store)
    if known is not None:
        return Ingested(known, paths, [known.manifest.window], [], time.perf_counter() - began)
    found = find_windows(paths, form, store, again)
    chosen = _choose(found.windows, window, paths)
    directory = directory_of(paths, chosen.name, store)
    prints = {source.path: _fingerprint(source.path, source.files) for source in chosen.sources}
    current = open_store(directory)
    read: list[Part] = []
    if again or not _is_current(current, chosen, prints):
        with only_writer(directory) as alone:
            current = None if again else open_store(directory)  # another process may have made it meanwhile
            if not _is_current(current, chosen, prints):
                if alone:
                    sweep(directory, current.manifest if current else None)
                current, read = _complete(paths, chosen, prints, directory, current, progress, executor)
    assert current is not None
    found.remember()
    return Ingested(current, paths, [each.name for each in found.windows], read, time.perf_counter() - began)


def _known_file(paths: list[Path], window: str | None, store: Path | None) -> RunStore | None:
    """The stored run of a capture that is one file, if it has not changed: no reader needs to be asked then."""
    path, name = paths[0], window_of_file(paths[0])
    if len(paths) > 1 or not path.is_file() or window not in (None, name):
        return None
    known = open_store(directory_of(path, name, store))
    if known is None or len(known.manifest.parts) != 1:
        return None
    (part,) = known.manifest.parts
    return known if part.source == str(path) and part.fingerprint == _fingerprint(path, (path,)) else None


def _choose(found: list[Window], window: str | None, paths: list[Path]) -> Window:
    if window is None:
        return found[-1]
    for candidate in found:
        if candidate.name == window:
            return candidate
    names = ", ".join(each.name for each in found)
    raise UsageError("no_such_window", window=window, path=", ".join(map(str, paths)), windows=names)


def _fingerprint(path: Path, files: tuple[Path, ...]) -> str:
    try:
        return fingerprint(files)
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=error.strerror or str(error)) from error


def _is_current(store: RunStore | None, window: Window, prints: dict[Path, str]) -> bool:
    if store is None:
        return False
    stored = {(part.rank, part.source, part.fingerprint) for part in store.manifest.parts}
    return stored == {(source.rank or 0, str(source.path), prints[source.path]) for source in window.sources}


def _complete(
    paths: list[Path],
    window: Window,
    prints: dict[Path, str],
    directory: Path,
    old: RunStore | None,
    progress: Progress | None,
    executor: Executor | None,
) -> tuple[RunStore, list[Part]]:
    import polars as pl

    from stepscope.engine.merge import merge
    from stepscope.engine.rank_task import RankTask

    known = {(part.rank, part.source, part.fingerprint): part for part in old.manifest.parts} if old else {}
    kept = [
        part
        for source in window.sources
        if (part := known.get((source.rank or 0, str(source.path), prints[source.path])))
    ]
    kept_sources = {part.source for part in kept}
    tasks = [
        RankTask(source, prints[source.path], directory)
        for source in window.sources
        if str(source.path) not in kept_sources
    ]
    notes = Notes()
    for note in window.notes.all():
        notes.add(note.code, count=note.count, **note.params)
    if len(names := formats(window.sources)) > 1:
        notes.add("mixed_formats", formats=", ".join(names))
    read, failures = _run(tasks, notes, progress, executor)
    if (error := _fatal(paths, window, kept + read, failures)) is not None:
        _discard(directory, read)
        raise error
    final = directory / f"merged-{uuid.uuid4().hex}"
    try:
        merged = merge(directory, final, kept, read, notes.all(), old)
        parts = sorted(kept + read, key=lambda part: part.rank)
        capture = str(paths[0] if len(paths) == 1 else common_directory(paths))
        return save(directory, Manifest(capture, window.name, parts, merged, written_by=__version__)), read
    except (OSError, pl.exceptions.PolarsError) as error:
        shutil.rmtree(final, ignore_errors=True)
        _discard(directory, read)
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableInputError("cannot_write_store", store=str(directory), reason=reason) from error


def _discard(directory: Path, read: list[Part]) -> None:
    """Remove what was read now; a failure leaves nothing behind."""
    for part in read:
        shutil.rmtree(directory / f"rank-{part.rank}-{part.fingerprint}", ignore_errors=True)


def _fatal(
    paths: list[Path], window: Window, parts: list[Part], failures: dict[Path, StepscopeError]
) -> StepscopeError | None:
    """The error of a path at which something failed and nothing could be read."""
    good = {part.source for part in parts}
    for path in paths:
        here = [source for source in window.sources if len(paths) == 1 or belongs(source, path)]
        failed = [failures[source.path] for source in here if source.path in failures]
        if failed and not any(str(source.path) in good for source in here):
            return failed[0]
    return None


def _run(
    tasks: list[RankTask], notes: Notes, progress: Progress | None, executor: Executor | None
) -> tuple[list[Part], dict[Path, StepscopeError]]:
    """Read the sources; what was read, and why the others, which are noted, could not be."""
    from stepscope.engine import rank_task
    from stepscope.engine.local import run_tasks

    sizes = {task.source.path: task.source.bytes for task in tasks}
    total, done = sum(sizes.values()), 0

    def on_read(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    def results() -> Iterator[tuple[RankTask, Part | Exception]]:
        if len(tasks) == 1 and executor is None:
            try:
                yield tasks[0], rank_task.run(tasks[0], on_read)
            except StepscopeError as error:
                yield tasks[0], error
            return
        for task, result in run_tasks(rank_task.run, tasks, executor):
            on_read(sizes[task.source.path])
            yield task, result

    read: list[Part] = []
    failures: dict[Path, StepscopeError] = {}
    for task, result in results():
        if isinstance(result, Part):
            read.append(result)
        elif isinstance(result, StepscopeError) and result.code != "cannot_write_store":
            failures[task.source.path] = result
            notes.add("rank_unreadable", file=str(task.source.path), rank=task.source.rank, **result.as_reason())
        else:
            raise result
    return read, failures
