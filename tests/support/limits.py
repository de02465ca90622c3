"""Bounds on time and memory for tests that feed hostile input: they fail early instead of hanging."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

#: For processes and conditions that a test waits for: far more than they take, however busy the machine is. What does
#: not come at all fails then, instead of hanging.
HANGS_AFTER_S = 900


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
    """Watches this process; ``grown_bytes`` says by how much its resident memory rose, at its highest.

    The kernel keeps the peak, because a thread that looks now and then sees nothing while C code holds the lock.
    Where the system does not tell (anywhere but Linux), it is 0.
    """

    def __enter__(self) -> PeakMemory:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        self._begin = _peak_bytes()
        return self

    def __exit__(self, *_: object) -> None:
        self.grown_bytes = _peak_bytes() - self._begin


def _peak_bytes() -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
