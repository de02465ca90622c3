"""Tells the worker processes of a data loader whether a window is open, and where to write."""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from pathlib import Path
from typing import Any

from stepscope.profiler.foundation.guard import report
from stepscope.profiler.foundation.memory_files import set_aside
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
            set_aside(file, _SIZE)
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
            if number != self._known:
                _, length = _HEAD.unpack(self._page[: _HEAD.size])
                text = self._page[_HEAD.size : _HEAD.size + length]
                self._folder = Path(os.fsdecode(text)) if number % 2 else None
                self._known = number
        except ours(Exception):  # closed, while a thread was still on its way here
            return None
        return self._folder

    def close(self) -> None:
        """Children keep their own view."""
        self._page.close()
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __reduce__(self) -> tuple[Any, ...]:
        # Only asked for while a child process is being spawned, which hands the open file on.
        from multiprocessing.reduction import DupFd

        return _in_child, (DupFd(self._file),)

    def _number(self) -> int:
        return int.from_bytes(self._page[:4], "little")


class AlwaysOff:
    """Stands for a switch that could not be had."""

    def folder(self) -> Path | None:
        """Nowhere."""
        return None


def _in_child(handed: Any) -> Switch | AlwaysOff:
    try:
        return Switch(handed.detach())
    except ours(Exception) as error:  # the worker belongs to the job and must work without us
        report("data loader worker", error)
        return AlwaysOff()


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("stepscope")
    file, name = tempfile.mkstemp()
    os.unlink(name)  # noqa: PTH108
    return file
