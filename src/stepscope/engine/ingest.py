"""From a capture to a stored run: what is new is read, rank by rank; what is known is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.engine.archives import is_archive
from stepscope.engine.discovered_windows import find_windows, unpacked_below
from stepscope.engine.remote import local_paths
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.readers.discovery.links import windows_within
from stepscope.readers.discovery.windows import Window, window_of_file
from stepscope.store.fingerprint import fingerprint
from stepscope.store.location import directory_of, only_writer, resolved
from stepscope.store.notes import Note
from stepscope.store.run_store import Part, RunStore, has_damaged_manifest, is_store, open_store, sweep
from stepscope.store.workspace import workspace_of

if TYPE_CHECKING:  # opening what was read before needs nothing of this
    from stepscope.engine.completion import Wanted

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
    prints = {source: _fingerprint(source.path, source.files) for source in chosen.sources}
    contents = {(source.rank or 0, str(source.path), prints[source]) for source in chosen.sources}
    directory = directory_of(paths, chosen.name, store)
    current = open_store(directory)
    read: list[Part] = []
    if again or current is None or not _is_all_in(current, contents, check):
        with only_writer(directory) as alone:
            current = open_store(directory)  # another process may have made it meanwhile
            if again or current is None or not _is_all_in(current, contents, check):
                from stepscope.engine.completion import Wanted, complete, mended
                from stepscope.engine.finished_ranks import finished_before

                wanted = Wanted(paths, chosen, prints)
                kept = [] if again or current is None else _kept(wanted, current, check)
                forgotten = current is None and has_damaged_manifest(directory)
                lacking = set() if again else contents - {part.identity() for part in kept}
                finished = finished_before(directory, lacking)
                if alone:
                    sweep(directory, current.manifest if current else None, finished)
                before = current
                read_before = list(finished.values())
                current, read = complete(wanted, directory, current, kept, read_before, progress, executor)
                if before is not None and not again:
                    current.mended = mended(wanted, before, read)
                elif forgotten and not again:
                    current.mended = [Note("store_manifest_damaged")]
    discovered.remember()
    return opened(current, [each.name for each in windows], read)


def _is_all_in(store: RunStore, contents: set[tuple[int, str, str]], check: bool) -> bool:
    """Whether a stored run is made of these sources, and whole."""
    return store.manifest.contents() == contents and not store.damaged(store.manifest.sizes, thorough=check)


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
