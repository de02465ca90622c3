"""Where the store of a capture lies, and one writer at a time in it."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from stepscope.errors import UnreadableInputError, UsageError
from stepscope.store.integrity import PRIVATE_DIRECTORY, PRIVATE_FILE, private_directory

if sys.platform != "win32":
    import fcntl


def default_root() -> Path:
    """The user's cache directory, or what STEPSCOPE_CACHE says."""
    if chosen := os.environ.get("STEPSCOPE_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "stepscope"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stepscope"


def resolved(paths: Iterable[Path]) -> list[Path]:
    """Each path once, however it is spelled and in whatever order; one that is not there stays as it is."""
    known = set()
    for path in paths:
        try:
            known.add(path.resolve(strict=True))
        except (OSError, RuntimeError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:  # every look at it would fail again
                raise UnreadableInputError("no_such_path", path=str(path)) from None
            known.add(path)
    return sorted(known)


def directory_of(capture: Path | Sequence[Path], window: str, root: Path | None) -> Path:
    """Where the run of one window of a capture, of one or several paths, is kept; never inside any of them."""
    root = (root or default_root()).expanduser().resolve()
    paths = [path.resolve() for path in ([capture] if isinstance(capture, Path) else capture)]
    for path in paths:
        if path.is_dir() and root.is_relative_to(path):
            raise UsageError("store_inside_capture", store=str(root), path=str(path))
    first, *others = sorted(paths)
    name = f"{first.name}+{len(others)}" if others else first.name
    return root / _key(name, "\0".join(map(str, (first, *others)))) / _key(window, window)


def _key(name: str, full: str) -> str:
    readable = re.sub(r"[^\w.-]+", "_", name)[:60] or "capture"
    return f"{readable}-{hashlib.sha256(os.fsencode(full)).hexdigest()[:16]}"


@contextlib.contextmanager
def only_writer(directory: Path) -> Iterator[bool]:
    """Wait until no other process ingests into the directory. Ends with the process, also when it is killed.

    Yields whether the lock is held; some network file systems know no locks, and then unique names keep writers apart.
    """
    try:
        private_directory(directory)
        with contextlib.suppress(OSError):  # one from before stores were private
            directory.chmod(PRIVATE_DIRECTORY)
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    except OSError as error:
        raise UnreadableInputError(
            "cannot_write_store", store=str(directory), reason=error.strerror or str(error)
        ) from error
    try:
        held = False
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                held = True
        yield held
    finally:
        os.close(descriptor)
