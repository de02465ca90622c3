"""From a capture to a stored run: what is new is read, rank by rank; what is known is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from stepscope.engine.archives import is_archive
from stepscope.engine.discovered_windows import find_windows, unpacked_below
from stepscope.engine.remote import local_paths
from stepscope.engine.wanted import Wanted
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.readers.discovery.links import windows_within
from stepscope.readers.discovery.windows import Window, window_of_file
from stepscope.store.fingerprint import fingerprint
from stepscope.store.location import directory_of, only_writer, resolved
from stepscope.store.notes import Note
from stepscope.store.run_store import Part, RunStore, has_damaged_manifest, is_store, open_store, sweep
from stepscope.store.workspace import workspace_of

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
    check: bool = False,
    within: Sequence[Path] | None = None,
) -> Ingested:
    """The stored run of a window of a capture, which is one path or several, made or completed if need be.

    ``again`` reads all anew; ``form`` (text or db) chooses where a rank was written in both. ``check`` looks at every
    stored file; else each is looked at when it is first read. A rank with a damaged file is read again. A rank whose
    files lie, behind links, outside the directories ``within`` is left out, for those who read what others put there.
    """
    began = time.perf_counter()
    paths = resolved(local_paths([capture] if isinstance(capture, Path) else capture, store))
    if not paths:
        raise UsageError("no_path")
    if (stored := _stored_run(paths, window)) is not None:
        stored.workspace = workspace_of(paths)
        return Ingested(stored, paths, [stored.manifest.window], [], time.perf_counter() - began)

    def opened(run: RunStore, windows: list[str], read: list[Part]) -> Ingested:
        name = run.manifest.window
        run.workspace = workspace_of(paths)
        # Here and not by the executor, which may be gone by then.
        run.mend = lambda: ingest(paths, name, store, form=form, check=True, within=within).store
        return Ingested(run, paths, windows, read, time.perf_counter() - began)

    known = None if again else _known_file(paths, window, store, check)
    if known is not None:
        return opened(known, [known.manifest.window], [])
    discovered = find_windows(paths, form, store, again)
    windows = discovered.windows
    if within is not None:  # what an archive held lies where we unpacked it
        own = [unpacked_below(path, store) for path in paths if is_archive(path)]
        windows = windows_within(windows, [*within, *own], paths)
    chosen = _choose(windows, window, paths)
    wanted = Wanted(paths, chosen, {source: _fingerprint(source.path, source.files) for source in chosen.sources})
    directory = directory_of(paths, chosen.name, store)
    current, read = _completed(wanted, directory, _Reading(again, check, progress, executor))
    discovered.remember()
    return opened(current, [each.name for each in windows], read)


@dataclass(frozen=True)
class _Reading:
    """How to read: all ``again``, after a ``check`` of every stored file, telling progress, on an executor."""

    again: bool
    check: bool
    progress: Progress | None
    executor: Executor | None


def _completed(wanted: Wanted, directory: Path, reading: _Reading) -> tuple[RunStore, list[Part]]:
    """The stored run of what is wanted, and which parts of it were read for that: none where all was there."""
    current = open_store(directory)
    if current is not None and _is_all_in(current, wanted, reading):
        return current, []
    from stepscope.engine.completion import complete, mended
    from stepscope.engine.finished_ranks import finished_before

    with only_writer(directory) as alone:
        old = open_store(directory)  # another process may have completed it meanwhile
        if old is not None and _is_all_in(old, wanted, reading):
            return old, []
        forgotten = old is None and has_damaged_manifest(directory)
        kept = [] if reading.again or old is None else _kept(wanted, old, reading.check)
        lacking = set() if reading.again else wanted.contents() - {part.identity() for part in kept}
        finished = finished_before(directory, lacking)
        if alone:
            sweep(directory, old.manifest if old else None, finished)
        current, read = complete(
            wanted, directory, old, kept, list(finished.values()), reading.progress, reading.executor
        )
    if old is not None and not reading.again:
        current.mended = mended(wanted, old, read)
    elif forgotten and not reading.again:
        current.mended = [Note("store_manifest_damaged")]
    return current, read


def _is_all_in(stored: RunStore, wanted: Wanted, reading: _Reading) -> bool:
    """Whether a stored run is made of just these sources and whole, and nobody asks to read all again."""
    if reading.again or stored.manifest.contents() != wanted.contents():
        return False
    return not stored.damaged(stored.manifest.sizes, thorough=reading.check)


def _kept(wanted: Wanted, old: RunStore, check: bool) -> list[Part]:
    """Ranks of the stored run that are still wanted and need not be read again."""
    manifest = old.manifest
    if old.damaged(name for files in manifest.merged.values() for name in files):
        return []  # the small tables of all ranks lie together
    damaged = set(old.damaged(manifest.sizes, thorough=check))
    contents = wanted.contents()
    return [part for part in manifest.parts if part.identity() in contents and damaged.isdisjoint(part.files())]


def _stored_run(paths: list[Path], window: str | None) -> RunStore | None:
    """A directory that is a stored run itself, as ``simulate`` writes one: nothing is to be read."""
    path = paths[0]
    if len(paths) > 1 or not path.is_dir() or not is_store(path):
        return None
    stored = open_store(path)
    if stored is None or stored.damaged(stored.manifest.sizes, thorough=False):
        raise UnreadableInputError("stored_run_unusable", path=str(path))
    if window not in (None, stored.manifest.window):
        raise UsageError("no_such_window", window=window, path=str(path), windows=stored.manifest.window)
    return stored


def _known_file(paths: list[Path], window: str | None, store: Path | None, check: bool) -> RunStore | None:
    """The stored run of a capture that is one file, if it has not changed: no reader needs to be asked then."""
    path, name = paths[0], window_of_file(paths[0])
    if len(paths) > 1 or not path.is_file() or window not in (None, name):
        return None
    known = open_store(directory_of(path, name, store))
    if known is None or len(known.manifest.parts) != 1 or known.damaged(known.manifest.sizes, thorough=check):
        return None
    (part,) = known.manifest.parts
    return known if part.source == str(path) and part.fingerprint == _fingerprint(path, (path,)) else None


def _choose(windows: list[Window], window: str | None, paths: list[Path]) -> Window:
    if window is None:
        return windows[-1]
    for candidate in windows:
        if candidate.name == window:
            return candidate
    names = ", ".join(each.name for each in windows)
    raise UsageError("no_such_window", window=window, path=", ".join(map(str, paths)), windows=names)


def _fingerprint(path: Path, files: tuple[Path, ...]) -> str:
    try:
        return fingerprint(files)
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=error.strerror or str(error)) from error
