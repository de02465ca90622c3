"""A small piece of memory that all ranks of a job on one host share: how far each is, and which windows were agreed.

It is a mapped file in the host's temporary folder, named after the job, so that looking at it costs a rank less than a
microsecond a step. The first rank that locks it leads; the lock dies with its owner, and another rank leads then.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import tempfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepscope.profiler.foundation.memory_files import set_aside
from stepscope.profiler.foundation.own_faults import ours, suppressed
from stepscope.profiler.foundation.paths import exists, make_directory

try:
    import fcntl
except ImportError:  # no system on which several ranks share a host
    fcntl = None  # type: ignore[assignment]

_MAGIC = 0x5354455053434F31
_HEADER_WORDS, _SLOT_WORDS, _SLOTS = 8, 8, 512
_SEQUENCE, _LENGTH, _CHECKSUM = 1, 2, 3
_PID, _STARTED, _RANK, _STEP, _STATE = range(5)
_TEXT_AT = (_HEADER_WORDS + _SLOTS * _SLOT_WORDS) * 8
_TEXT_BYTES = 1 << 16
_TRIES = 200
_OLD_S = 86_400
_PATIENCE_S, _LOOK_S = 5.0, 0.005


@dataclass(frozen=True)
class BoardEntry:
    """Where one rank is."""

    rank: int
    pid: int
    step: int
    state: int


class Board:
    """The shared memory as one rank sees it; ``path`` None is a board for this process alone."""

    def __init__(self, path: Path | None, rank: int) -> None:
        self._path = path
        self._file = -1
        self.leads = path is None
        self._seen = 0
        with self._alone(), contextlib.ExitStack() as if_refused:
            size = _TEXT_AT + _TEXT_BYTES
            if path is None:
                self._memory = mmap.mmap(-1, size)
            else:
                self._file = os.open(str(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
                if_refused.callback(os.close, self._file)
                set_aside(self._file, size)
                self._memory = mmap.mmap(self._file, size)
            self._words = memoryview(self._memory).cast("Q")
            self._slot = self._take_slot(rank)
            if_refused.pop_all()

    def advance(self, step: int) -> bool:
        """This rank is about to begin a step; whether there is :meth:`news`.

        The order matters: who is seen as not yet so far by the leader has not looked yet, and will see its news.
        """
        self._words[self._slot + _STEP] = step
        return self._words[_SEQUENCE] != self._seen

    def say_state(self, state: int) -> None:
        """What this rank does, for the status file."""
        self._words[self._slot + _STATE] = state

    def places(self) -> list[BoardEntry]:
        """Where all ranks are that live, this one included."""
        entries = []
        for slot in _slots():
            pid, _, rank, step, state = self._words[slot : slot + 5]
            if pid and (slot == self._slot or self._lives(slot)):
                entries.append(BoardEntry(rank, pid, step, state))
        return entries

    def is_mine(self, entry: BoardEntry) -> bool:
        """Whether a place is that of this process."""
        return entry.pid == self._words[self._slot + _PID]

    def lead(self) -> bool:
        """Whether this rank leads, by now."""
        if not self.leads and self._file >= 0:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ours(OSError):
                return False
            self.leads = True
            if self._words[_SEQUENCE] % 2:
                self.write({})  # the leader before was killed while it wrote
        return self.leads

    def news(self) -> dict[str, Any] | None:
        """What the leader wrote last, which the training then knows; the thread beside it only looks (:meth:`read`)."""
        self._seen = self._words[_SEQUENCE]
        return self.read()

    def read(self) -> dict[str, Any] | None:
        """What the leader wrote last; None where it is about to write."""
        for _ in range(_TRIES):
            sequence = self._words[_SEQUENCE]
            text = bytes(self._memory[_TEXT_AT : _TEXT_AT + min(self._words[_LENGTH], _TEXT_BYTES)])
            if sequence % 2 == 0 and sequence == self._words[_SEQUENCE] and zlib.crc32(text) == self._words[_CHECKSUM]:
                content: dict[str, Any] = json.loads(text) if text else {}
                return content
            time.sleep(0)
        return None

    def write(self, content: dict[str, Any]) -> None:
        """Tell all ranks; only the leader does. An odd sequence number keeps readers away meanwhile."""
        text = json.dumps(content).encode()
        if len(text) > _TEXT_BYTES:
            raise ValueError(f"the config is too large ({len(text)} bytes)")
        sequence = self._words[_SEQUENCE] | 1
        self._words[_SEQUENCE] = sequence
        self._memory[_TEXT_AT : _TEXT_AT + len(text)] = text
        self._words[_LENGTH] = len(text)
        self._words[_CHECKSUM] = zlib.crc32(text)
        self._words[_SEQUENCE] = sequence + 1

    def close(self, forked: bool = False) -> None:
        """Leave; the last one takes the file away. A forked child only lets go of what is its parent's."""
        if self._slot < 0:
            return
        if not forked:
            with suppressed(OSError):
                self._words[self._slot + _PID] = 0
                with self._alone():
                    if self._path is not None and not self.places():
                        self._path.unlink(missing_ok=True)
        self._slot = -1
        self._words.release()
        self._memory.close()
        if self._file >= 0:
            os.close(self._file)

    def _take_slot(self, rank: int) -> int:
        if self._words[0] != _MAGIC or not any(self._lives(slot) for slot in _slots()):
            self._memory[:] = bytes(len(self._memory))  # left behind by a job that was killed
            self._words[0] = _MAGIC
        free = next((slot for slot in _slots() if not self._lives(slot)), None)
        if free is None:
            raise OSError(f"more than {_SLOTS} ranks on one host")
        pid = os.getpid()
        started = process_started(pid)
        if not started and self._path is not None:  # others could not tell whether it lives
            raise OSError("the system does not say when this process was started")
        for word, value in ((_STARTED, started), (_RANK, rank), (_STEP, 0), (_STATE, 0), (_PID, pid)):
            self._words[free + word] = value
        return free

    def _lives(self, slot: int) -> bool:
        pid, started = self._words[slot + _PID], self._words[slot + _STARTED]
        return bool(pid and started) and process_started(pid) == started

    def _alone(self) -> contextlib.AbstractContextManager[Any]:
        """Nobody else joins or leaves meanwhile."""
        return _locked(self._path.parent) if self._path is not None else contextlib.nullcontext()


def board_for(job: str | None, rank: int) -> Board:
    """The board of a job; None is a job of one process. Raises OSError where no file can be shared."""
    if job is None:
        return Board(None, rank)
    if fcntl is None:
        raise OSError("no file locks on this system")
    folder = Path(tempfile.gettempdir()) / f"stepscope-{os.getuid()}"
    make_directory(folder, 0o700)
    about = folder.lstat()
    if about.st_uid != os.getuid() or folder.is_symlink() or about.st_mode & 0o022:
        raise OSError(f"{folder} belongs to somebody else")
    _sweep(folder)
    return Board(folder / f"dynamic-{hashlib.sha256(job.encode()).hexdigest()[:32]}", rank)


def _sweep(folder: Path) -> None:
    """Boards of jobs that were killed: nobody holds their lock, and nobody has touched them for a day."""
    for path in folder.glob("dynamic-*"):
        with suppressed(OSError):
            if time.time() - path.stat().st_mtime > _OLD_S:
                file = os.open(str(path), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
                finally:
                    os.close(file)


@contextlib.contextmanager
def _locked(folder: Path) -> Any:
    file = os.open(str(folder), os.O_RDONLY | os.O_CLOEXEC)
    try:
        _lock(file)
        yield
    finally:
        os.close(file)


def _lock(file: int) -> None:
    """Others hold it for moments only; one that was stopped meanwhile must not stop us."""
    end = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ours(BlockingIOError):
            if time.monotonic() > end:
                raise
            time.sleep(_LOOK_S)
        else:
            return


def _slots() -> range:
    first = _HEADER_WORDS
    return range(first, first + _SLOTS * _SLOT_WORDS, _SLOT_WORDS)


def process_started(pid: int) -> int:
    """When a process was started, which tells it from a later one of the same number; 0 if it is not there.

    One that has ended is not there, although its number is kept until its parent asks for it.
    """
    try:
        state, *words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return 0 if state in "ZX" else int(words[18])
    except ours(OSError, ValueError, IndexError):
        pass
    if exists(Path("/proc/self")):
        return 0
    try:
        os.kill(pid, 0)
    except ours(OSError):
        return 0
    return 1
