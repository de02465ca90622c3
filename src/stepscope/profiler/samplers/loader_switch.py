"""Tells the worker processes of a data loader where to write, and whether a window is open at all."""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from pathlib import Path
from typing import Any

from stepscope.profiler.foundation.own_faults import ours

_SIZE = 8192
_HEAD = struct.Struct("<II")  # a number that changes with each change and is odd while on; length of the path


class Switch:
    """A page of memory that a process shares with its children, forked or spawned; no file is left behind.

    Asking costs a glance at four bytes, so workers can ask before each batch.
    """

    def __init__(self, file: int | None = None) -> None:
        if file is None:
            file = _nameless_file()
            os.ftruncate(file, _SIZE)
        self._file = file
        self._page = mmap.mmap(file, _SIZE)
        self._known = 0
        self._folder: Path | None = None

    def on(self, folder: Path) -> None:
        """A window is open; its raw folder is this."""
        text = os.fsencode(str(folder))
        if len(text) > _SIZE - _HEAD.size:
            return
        number = self._number()
        self._page[_HEAD.size : _HEAD.size + len(text)] = text
        self._page[: _HEAD.size] = _HEAD.pack(number + 2 - (number + 1) % 2, len(text))

    def off(self) -> None:
        """No window is open."""
        number = self._number()
        self._page[: _HEAD.size] = _HEAD.pack(number + number % 2, 0)

    def folder(self) -> Path | None:
        """Where to write now, None if nowhere."""
        try:
            number = self._number()
        except ours(ValueError):  # closed, while a thread was still on its way here
            return None
        if number != self._known:
            self._known = number
            _, length = _HEAD.unpack(self._page[: _HEAD.size])
            text = self._page[_HEAD.size : _HEAD.size + length]
            self._folder = Path(os.fsdecode(text)) if number % 2 else None
        return self._folder

    def close(self) -> None:
        """Children keep their own view."""
        self._page.close()
        os.close(self._file)

    def __reduce__(self) -> tuple[Any, ...]:
        # Only asked for while a child process is being spawned, which hands the open file on.
        from multiprocessing.reduction import DupFd

        return _in_child, (DupFd(self._file),)

    def _number(self) -> int:
        return int.from_bytes(self._page[:4], "little")


def _in_child(handed: Any) -> Switch:
    return Switch(handed.detach())


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("stepscope")
    file, name = tempfile.mkstemp()
    os.unlink(name)  # noqa: PTH108
    return file
