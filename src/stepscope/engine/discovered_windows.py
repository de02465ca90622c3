"""Remembers what a capture contains: while nothing in it changes, no reader needs to be asked again.

Asking means importing every reader and opening every file. The answer lies beside the stored runs of the capture.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from stepscope.engine.archives import is_archive, is_cut, unpacked
from stepscope.readers.discovery.several_paths import windows_of_all
from stepscope.readers.discovery.source import Source
from stepscope.readers.discovery.windows import Window, windows
from stepscope.store.integrity import read_document, save_document
from stepscope.store.location import directory_of
from stepscope.store.notes import Notes
from stepscope.store.schema import SCHEMA_VERSION
from stepscope.version import __version__

_PATHS: Final = ("files", "graph_captures")
_WRITTEN_BY: Final = f"{__version__} {SCHEMA_VERSION}"


@dataclass
class DiscoveredWindows:
    """The windows of a capture, oldest first, and where to write them down, if that is worth it."""

    windows: list[Window]
    paths: Sequence[Path]
    state: str = ""
    memory: Path | None = None

    def remember(self) -> None:
        """Write down what was found; called when a run is stored, because a failure must leave nothing behind."""
        if self.memory is not None:
            _write(self.memory, self)


def unpacked_below(path: Path, store: Path | None) -> Path:
    """Where the content of an archive lies, beside the stored runs."""
    return directory_of([path], "", store).parent / "unpacked"


def find_windows(paths: Sequence[Path], form: str | None, store: Path | None, again: bool = False) -> DiscoveredWindows:
    """What ``readers`` find at the paths, or found last time if nothing changed; ``again`` asks anew.

    An archive stands for the directory that it holds.
    """
    archives = {path: unpacked(path, unpacked_below(path, store)) for path in paths if is_archive(path)}
    if archives:
        inside = [archives.get(path, path) for path in paths]
        listed = windows(inside[0], form) if len(inside) == 1 else windows_of_all(inside, form)
        for window in listed if any(map(is_cut, archives.values())) else ():
            window.notes.add(
                "archive_cut", file=", ".join(path.name for path, place in archives.items() if is_cut(place))
            )
        # The name of our directory means nothing to the user, who knows the archive.
        names = {place.name: path.name for path, place in archives.items()}
        return DiscoveredWindows([replace(each, name=names.get(each.name, each.name)) for each in listed], paths)
    if len(paths) == 1 and not paths[0].is_dir():
        return DiscoveredWindows(windows(paths[0], form), paths)
    memory = directory_of(paths, "", store).parent / f"found-{form or 'any'}.json"
    state = " ".join(_state_below(path) if path.is_dir() else _state(path) for path in paths)
    if not again and (known := _recall(memory, state)) is not None:
        return DiscoveredWindows(known, paths)
    listed = windows(paths[0], form) if len(paths) == 1 else windows_of_all(paths, form)
    return DiscoveredWindows(listed, paths, state, memory)


def _recall(memory: Path, state: str) -> list[Window] | None:
    """What was found when the capture was in this state, None if that is not known."""
    try:
        known = read_document(memory)
        if known["written_by"] != _WRITTEN_BY or known["state"] != state:
            return None
        if any(_state(Path(file)) != before for file, before in known["outside"].items()):
            return None
        return [_window(fields) for fields in known["windows"]]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write(memory: Path, discovered: DiscoveredWindows) -> None:
    files = {file for window in discovered.windows for source in window.sources for file in source.files}
    known = {
        "written_by": _WRITTEN_BY,
        "state": discovered.state,
        # If only the folder of results is given, readers look at its neighbours too.
        "outside": {
            str(file): _state(file) for file in sorted(files) if not any(map(file.is_relative_to, discovered.paths))
        },
        "windows": [_fields(window) for window in discovered.windows],
    }
    with contextlib.suppress(OSError, UnicodeError):  # then it is looked for again
        save_document(memory, known)


def _state_below(path: Path) -> str:
    """Changes when a file below comes, goes or changes."""
    digest = hashlib.blake2b(digest_size=16)
    for below, folders, files in os.walk(path):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        for name in sorted(files):
            file = Path(below, name)
            digest.update(f"{file} {_state(file)}\n".encode("utf-8", "surrogateescape"))
        digest.update(f"{folders}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _state(file: Path) -> str:
    try:
        state = file.stat()
    except OSError:
        return "unreadable"
    return f"{state.st_size} {state.st_mtime_ns} {state.st_ino} {state.st_mode}"


def _fields(window: Window) -> dict[str, Any]:
    sources = [
        {
            **asdict(source),
            "path": str(source.path),
            "files": [str(file) for file in source.files],
            "graph_captures": [str(file) for file in source.graph_captures],
        }
        for source in window.sources
    ]
    notes = [[note.code, note.count, note.params] for note in window.notes.all()]
    return {"name": window.name, "sources": sources, "notes": notes}


def _window(fields: dict[str, Any]) -> Window:
    sources = [
        Source(**source | {"path": Path(source["path"])} | {key: tuple(map(Path, source[key])) for key in _PATHS})
        for source in fields["sources"]
    ]
    notes = Notes()
    for code, count, params in fields["notes"]:
        notes.add(code, count=count, **params)
    return Window(fields["name"], sources, notes)
