"""What takes long to work out of a run is kept beside it; it holds while run, plan, thresholds and code stay.

::

    <name>.json      {"key": …, "content": …}, replaced in one move
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from stepscope.facts.thresholds import chosen
from stepscope.store.integrity import read_document, save_document
from stepscope.store.run_store import RunStore
from stepscope.typed import typed
from stepscope.version import __version__

Content = TypeVar("Content")


def kept(
    store: RunStore, name: str, kind: type[Content], rooms: tuple[str, ...], work_out: Callable[[RunStore], Content]
) -> Content:
    """The kept content of a name if it still holds, else a new one, which is kept where that is possible.

    ``rooms`` are the packages whose files decide on the content.
    """
    before = kept_before(store, name, kind, rooms)
    if before is not None:
        return before
    content = work_out(store)
    with contextlib.suppress(OSError):  # a store that nobody may write to
        save_document(path_of(store, name), {"key": _key(store, rooms), "content": content})
    return content


def kept_before(store: RunStore, name: str, kind: type[Content], rooms: tuple[str, ...]) -> Content | None:
    """The kept content of a name if it still holds; nothing is worked out."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        before = read_document(path_of(store, name))
        if before["key"] == _key(store, rooms):
            return typed(before["content"], kind)
    return None


def path_of(store: RunStore, name: str) -> Path:
    """Where the content of a name is kept."""
    return store.directory / f"{name}.json"


def _key(store: RunStore, rooms: tuple[str, ...]) -> str:
    manifest = store.manifest
    run = msgspec.json.encode([manifest.capture, manifest.window, manifest.schema_version, manifest.checksums])
    limits = msgspec.json.encode(sorted(chosen().items()))
    plan = "" if store.workspace is None else store.workspace.stamp()
    return hashlib.sha256(b"\0".join((run, plan.encode(), limits, _version(rooms).encode()))).hexdigest()


@cache
def _version(rooms: tuple[str, ...]) -> str:
    """The package's version and the state of its files, which change without a version while somebody works on them."""
    package = Path(__file__).parents[2]
    files = [entry for room in rooms for entry in _files(package / room)]
    newest = max((entry.stat().st_mtime_ns for entry in files), default=0)
    return f"{__version__} {len(files)} {newest}"


def _files(directory: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(Path(entry.path)) if entry.name != "__pycache__" else ()
            else:
                yield entry
