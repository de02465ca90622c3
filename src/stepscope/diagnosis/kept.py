"""A diagnosis is worked out once and kept beside the stored run; it holds while run, rules, facts and texts stay.

::

    diagnosis.json      {"key": …, "diagnosis": …}, replaced in one move
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from stepscope.diagnosis.finding import Diagnosis
from stepscope.facts.thresholds import chosen
from stepscope.store.integrity import read_document, save_document
from stepscope.store.run_store import RunStore
from stepscope.version import __version__

_FILE: Final = "diagnosis.json"
#: What a diagnosis is made from, beside the run.
_MADE_FROM: Final = ("analysis", "diagnosis", "facts", "texts")


def kept(store: RunStore, work_out: Callable[[RunStore], Diagnosis]) -> Diagnosis:
    """The diagnosis of a run: the kept one if it still holds, else a new one, which is kept where that is possible."""
    key = _key(store)
    path = store.directory / _FILE
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        before = read_document(path)
        if before["key"] == key:
            return msgspec.convert(before["diagnosis"], Diagnosis)
    diagnosis = work_out(store)
    with contextlib.suppress(OSError):  # a store that nobody may write to
        save_document(path, {"key": key, "diagnosis": diagnosis})
    return diagnosis


def _key(store: RunStore) -> str:
    manifest = msgspec.json.encode(asdict(store.manifest))
    limits = msgspec.json.encode(sorted(chosen().items()))
    return hashlib.sha256(manifest + _version().encode() + limits).hexdigest()


@cache
def _version() -> str:
    """The package's version and the state of its files, which change without a version while somebody works on them."""
    package = Path(__file__).parents[1]
    files = [entry for room in _MADE_FROM for entry in _files(package / room)]
    newest = max((entry.stat().st_mtime_ns for entry in files), default=0)
    return f"{__version__} {len(files)} {newest}"


def _files(directory: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(Path(entry.path)) if entry.name != "__pycache__" else ()
            else:
                yield entry
