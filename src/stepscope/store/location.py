"""Where the store of a capture lies, and one writer at a time in it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from stepscope.errors import UnreadableInputError, UsageError

if sys.platform != "win32":
    import fcntl


def default_root() -> Path:
    """The user's cache directory, or what STEPSCOPE_CACHE says."""
    if chosen := os.environ.get("STEPSCOPE_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "stepscope"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stepscope"


def directory_of(capture: Path, window: str, root: Path | None) -> Path:
    """Where the run of one window of a capture is kept; never inside the capture itself."""
    root = (root or default_root()).expanduser().resolve()
    capture = capture.resolve()
    if capture.is_dir() and root.is_relative_to(capture):
        raise UsageError("store_inside_capture", store=str(root), path=str(capture))
    return root / _key(capture.name, str(capture)) / _key(window, window)


def _key(name: str, full: str) -> str:
    readable = re.sub(r"[^\w.-]+", "_", name)[:60] or "capture"
    return f"{readable}-{hashlib.sha256(os.fsencode(full)).hexdigest()[:16]}"


@contextlib.contextmanager
def only_writer(directory: Path) -> Iterator[bool]:
    """Wait until no other process ingests into the directory. Ends with the process, also when it is killed.

    Yields whether the lock is held; some network file systems know no locks, and then unique names keep writers apart.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UnreadableInputError(
            "cannot_write_store", store=str(directory), reason=error.strerror or str(error)
        ) from error
    try:
        held = False
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
                held = True
        yield held
    finally:
        os.close(handle)
