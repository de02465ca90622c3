"""Line files that are appended to as things happen, so that what was written outlives a killed process."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import threading
from pathlib import Path
from typing import Any

from stepscope.profiler.foundation.guard import report
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.own_faults import ours, suppressed

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class LineStream:
    """One JSON object per line, each handed to the system in one call: whole lines, from any thread or forked child.

    A stream that cannot be opened or written (full disk, no handle left) says so once and is silent from then on.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = -1
        how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        try:
            self._file = os.open(str(path), how, 0o640)
        except ours(FileNotFoundError) as error:
            warn("fault_vanished", reason=str(error), once_for=str(path.parent))
        except ours(OSError) as error:
            report(path.name, error)

    def write(self, record: dict[str, Any]) -> None:
        """Append a record."""
        self.write_text(_encode(record))

    def write_text(self, text: str) -> None:
        """Append a line that is text already."""
        if self._file < 0:
            return
        line = text.encode("utf-8", "replace") + b"\n"
        try:
            if os.write(self._file, line) != len(line):
                raise OSError(28, "No space left on device")
        except ours(OSError) as error:
            self.close()
            report(self.path.name, error)

    def close(self) -> None:
        """No more lines; may be called again."""
        file, self._file = self._file, -1
        if file >= 0:
            with suppressed(OSError):  # what could not be written was said
                os.close(file)


class Streams:
    """The line files of one folder, each made when its first record comes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: dict[str, LineStream] = {}
        self._closed = False
        self._lock = threading.RLock()  # a signal handler of the job's may set a mark in the midst of ours

    def write(self, name: str, record: dict[str, Any]) -> None:
        """Append a record to the file of this name."""
        stream = self._open.get(name)
        if stream is None:
            stream = self._opened(name)
        if stream is not None:
            stream.write(record)

    def close(self) -> None:
        """No more records."""
        self._closed = True
        for stream in list(self._open.values()):
            stream.close()

    def _opened(self, name: str) -> LineStream | None:
        with self._lock:
            if name not in self._open and not self._closed:
                self._open[name] = LineStream(self.folder / name)
            return self._open.get(name)


def write_json(path: Path, content: Any) -> None:
    """A whole file in one move: readers see the old one, the new one, or none."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8") as file:
            json.dump(content, file, ensure_ascii=False, indent=4, default=str)
        draft.chmod(0o640)
        draft.replace(path)
    except BaseException:
        with suppressed(OSError):
            draft.unlink(missing_ok=True)
        raise


def read_regular(path: Path, most_bytes: int) -> tuple[bytes, os.stat_result]:
    """The content of a file with what the system knows of it; never waits, as a pipe of that name would make us."""
    file = os.open(str(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(file, "rb") as opened:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return opened.read(most_bytes), about


def absolute(path: str) -> Path:
    """The path, wherever the script goes from here; as it is where there is no such place any more."""
    given = Path(path)
    try:
        return given.expanduser().absolute()
    except ours(OSError, RuntimeError):
        return given


def remove_tree(folder: Path) -> None:
    """Take a folder away, as far as that goes."""
    with suppressed(OSError):
        shutil.rmtree(folder)
