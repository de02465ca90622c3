"""Files that are mapped into memory."""

from __future__ import annotations

import errno
import os

from stepscope.profiler.foundation.own_faults import ours


def set_aside(file: int, size: int) -> None:
    """Give a file its size, and its space now: where a mapped page finds none later, the system kills the process."""
    os.ftruncate(file, size)
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file, 0, size)
    except ours(OSError) as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):  # a file system that cannot tell
            raise
