"""Bounds on time and memory for tests that feed hostile input: they fail early instead of hanging."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if the block has not ended after so many seconds of this process's CPU, whatever else the machine does."""

    def too_slow(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {seconds} CPU seconds")

    before = signal.signal(signal.SIGPROF, too_slow)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class PeakMemory:
    """Watches this process; ``grown_bytes`` says by how much its resident memory rose above the beginning."""

    def __enter__(self) -> PeakMemory:
        self._begin = self._peak = _resident_bytes()
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()
        self.grown_bytes = self._peak - self._begin

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            self._peak = max(self._peak, _resident_bytes())


def _resident_bytes() -> int:
    """0 where the system does not tell (anywhere but Linux)."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0
