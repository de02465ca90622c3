"""Parsers at work beside the training: few at a time, and waited for as long as they get on, never longer."""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
import time
from pathlib import Path

from stepscope.profiler.foundation.flag import Flag
from stepscope.profiler.foundation.guard import attempt
from stepscope.profiler.foundation.messages import tell, warn
from stepscope.profiler.foundation.own_faults import ours, suppressed

#: A parser that uses no processor for so long was stopped, or its file system hangs.
_STANDSTILL_S = 30.0
#: However busy, none is waited for longer than this and a second per megabyte, some fifty times what one needs.
_LONGEST_S = 300.0
_LOOK_S = 0.5
#: Beside the training; each takes a core and a few hundred megabytes, and windows may end faster than they are parsed.
_MOST_AT_ONCE = 2
#: The thread beside the training only looks; one that hangs is left behind.
_PATIENCE_S = 5.0
_PROC = Path("/proc")


class Parser:
    """One process that writes the documented files of a window; ``quiet`` says nothing where that goes well."""

    def __init__(
        self, command: list[str], environment: dict[str, str], directory: Path, quiet: bool = False, told: bool = True
    ) -> None:
        self.directory = directory
        self.is_waited_for = False
        self.is_left = False
        self._command, self._environment = command, environment
        self._quiet, self._told = quiet, told
        self._began = self._got_on = time.monotonic()
        self._used = 0
        self._pid = os.getpid()

    def begin(self) -> None:
        """Start the process."""
        if not self._told:
            tell("parsing", directory=str(self.directory))
        self._began = self._got_on = time.monotonic()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=self._environment,
        )
        _at_work.parsers.append(self)
        _at_work.watch()

    def begin_beside(self) -> None:
        """Start it beside the training, or as soon as an earlier one is done; its end is told when it comes."""
        _at_work.waiting.append(self)
        _at_work.watch()
        _at_work.begin_next()
        attempt("parsing", _at_work.follow)

    @property
    def is_inherited(self) -> bool:
        """Whether it is the parent's, and this process was forked meanwhile."""
        return self._pid != os.getpid()

    @property
    def has_ended(self) -> bool:
        """Whether there is nothing to wait for."""
        return self._process.poll() is not None

    @property
    def stands_still(self) -> bool:
        """Whether there is no use in waiting."""
        if self._process.poll() is not None:
            return False
        now = time.monotonic()
        if now - self._got_on > _STANDSTILL_S:
            return True
        return now - self._began > _LONGEST_S and now - self._began > _LONGEST_S + _megabytes(self.directory)

    def finish(self, last: bool = False) -> bool:
        """Wait for it; whether its files are there. One that stands still is left behind, and ended at the ``last``."""
        self.is_waited_for = True
        while True:
            try:
                _, errors = self._process.communicate(timeout=_LOOK_S)
                break
            except ours(subprocess.TimeoutExpired):
                _at_work.look()
            if self.stands_still:
                self._leave(last)
                return False
        _at_work.forget(self)
        if self._process.returncode == 0:
            if not self._quiet:
                tell("parsed", directory=str(self.directory), seconds=f"{time.monotonic() - self._began:.1f}")
            return True
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1] if lines else f"exit {self._process.returncode}"
        warn("parsing_failed", directory=str(self.directory), reason=reason)
        return False

    def look(self) -> None:
        """Note whether it has done anything since the last look."""
        used = _used_by(self._process.pid)
        if used != self._used:
            self._used, self._got_on = used, time.monotonic()

    def _leave(self, last: bool) -> None:
        self.is_left = True
        if not last:
            warn("parsing_left", directory=str(self.directory))
            return
        self._process.kill()
        with suppressed(subprocess.TimeoutExpired):
            self._process.wait(_LOOK_S)
        _at_work.forget(self)
        warn("parsing_ended", directory=str(self.directory))


class _AtWork:
    """The parsers of this process, and those whose turn has not come."""

    def __init__(self) -> None:
        self.parsers: list[Parser] = []
        self.waiting: list[Parser] = []
        self._watched = False
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._over = Flag()

    def watch(self) -> None:
        """Wait for them when the script ends."""
        if not self._watched:
            self._watched = True
            atexit.register(wait_for_all)

    def follow(self) -> None:
        """See beside the training when one ends, for as long as there are any."""
        if self._thread is None or not self._thread.is_alive() or self._pid != os.getpid():
            self._pid, self._over = os.getpid(), Flag()
            self._thread = threading.Thread(target=_follow, args=(self._over,), name="stepscope-parsers", daemon=True)
            self._thread.start()

    def stop_following(self) -> None:
        """The script ends, and waits for them itself."""
        self._over.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(_PATIENCE_S)

    def begin_next(self) -> None:
        """Start those whose turn it is; what another process has forked off is not ours."""
        self.waiting = [parser for parser in self.waiting if not parser.is_inherited]
        while self.waiting and len(self.busy()) < _MOST_AT_ONCE:
            attempt("parsing", self.waiting.pop(0).begin)

    def busy(self) -> list[Parser]:
        """Those of this process that have not ended."""
        return [parser for parser in self.parsers if not parser.is_inherited and not parser.has_ended]

    def look(self) -> None:
        """Note how each gets on."""
        for parser in self.parsers:
            if not parser.is_inherited:
                parser.look()

    def forget(self, parser: Parser) -> None:
        """One is done."""
        self.parsers = [other for other in self.parsers if other is not parser]

    def leave_waiting(self) -> None:
        """One hangs: others would, too."""
        while self.waiting:
            warn("parsing_not_begun", directory=str(self.waiting.pop(0).directory))


_at_work = _AtWork()


def _follow(over: Flag) -> None:
    while are_at_work() and not over.wait(_LOOK_S):
        _at_work.begin_next()


def one_stands_still() -> bool:
    """Whether a parser of an earlier window hangs: another one would, too."""
    _at_work.look()
    return any(parser.stands_still for parser in _at_work.parsers if not parser.is_inherited)


def are_at_work() -> bool:
    """Whether a parser is under way or will be; the end of those that have ended is told."""
    for parser in list(_at_work.parsers):
        if not parser.is_inherited and not parser.is_waited_for and parser.has_ended:
            attempt("parsing", parser.finish)
    mine = [*_at_work.parsers, *_at_work.waiting]
    return any(not parser.is_inherited for parser in mine)


def wait_for_all() -> None:
    """The script ends; its parsers finish first, so that none is left behind. A forked child has none."""
    attempt("parsing", _at_work.stop_following)
    while True:
        _at_work.begin_next()
        parser = next((one for one in _at_work.parsers if not one.is_inherited), None)
        if parser is None:
            break
        attempt("parsing", parser.finish, last=True)
        _at_work.forget(parser)
        if parser.is_left:
            _at_work.leave_waiting()
    _at_work.parsers = []


def _used_by(process: int) -> int:
    """Processor time of a process and all below it, in ticks; where the system does not tell, time itself."""
    parents: dict[int, tuple[int, int]] = {}
    for entry in _PROC.glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
            parents[int(entry.parent.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
        except ours(OSError, ValueError, IndexError):  # it has just ended
            continue
    if process not in parents:
        return time.monotonic_ns()
    family = {process}
    while True:
        grown = family | {pid for pid, (parent, _) in parents.items() if parent in family}
        if grown == family:
            return sum(parents[pid][1] for pid in family)
        family = grown


def _megabytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except ours(OSError):
            continue
    return total >> 20
