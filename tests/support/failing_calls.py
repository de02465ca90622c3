"""Lets system calls of the profiler fail: the n-th one, or all from the n-th on. Runs inside the job that is tested.

Python announces most calls to its audit hooks before it makes them, and a hook that raises stands for the call that
failed. The others are wrapped. A call is the profiler's if a function of the profiler is on the stack.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

#: What fails how, by the event that Python announces or the name of the function.
ERRORS: dict[str, tuple[int, ...]] = {
    "open": (errno.EMFILE, errno.ENOSPC, errno.ENOENT, errno.EROFS, errno.EACCES),
    "os.mkdir": (errno.ENOSPC, errno.EROFS, errno.ENOENT),
    "os.rename": (errno.ENOSPC, errno.ENOENT),
    "os.remove": (errno.EROFS, errno.ENOENT),
    "os.rmdir": (errno.EROFS,),
    "os.chmod": (errno.EPERM,),
    "os.link": (errno.EPERM,),
    "os.listdir": (errno.EMFILE,),
    "os.scandir": (errno.EMFILE,),
    "os.truncate": (errno.ENOSPC,),
    "os.fork": (errno.EAGAIN,),
    "subprocess.Popen": (errno.EAGAIN, errno.ENOMEM),
    "mmap.__new__": (errno.ENOMEM,),
    "fcntl.flock": (errno.ENOLCK,),
    "socket.gethostname": (errno.EPERM,),
    "ctypes.dlopen": (errno.ENOENT,),
    "write": (errno.ENOSPC, errno.EIO, errno.EDQUOT),
    "stat": (errno.ESTALE, errno.EACCES),
    "fstat": (errno.ESTALE,),
    "statvfs": (errno.ESTALE,),
    "getcwd": (errno.ENOENT,),
    "memfd_create": (errno.EMFILE,),
    "pipe": (errno.EMFILE,),
    "close": (errno.EIO,),
    "thread start": (0,),
}
_WRAPPED = ("write", "stat", "fstat", "statvfs", "getcwd", "memfd_create", "pipe", "close")


class FailingCalls:
    """Counts the profiler's calls; ``number`` 0 lets all go well."""

    def __init__(self, number: int, and_all_later: bool) -> None:
        self.number = number
        self.and_all_later = and_all_later
        self.made = 0
        self.failed: list[str] = []
        self._inside = threading.local()

    def install(self) -> None:
        """From now on, for the rest of this process."""
        sys.addaudithook(self._audited)
        for name in _WRAPPED:
            setattr(os, name, self._wrapped(name, getattr(os, name)))
        start: Any = threading._start_new_thread  # type: ignore[attr-defined]
        threading._start_new_thread = self._wrapped("thread start", start)  # type: ignore[attr-defined]

    def _audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        del arguments
        if event in ERRORS:
            self._count(event)

    def _wrapped(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                self._count(name)
            except OSError:
                if name == "close":  # the system closes the file even so
                    original(*args, **kwargs)
                raise
            return original(*args, **kwargs)

        return call

    def _count(self, name: str) -> None:
        if getattr(self._inside, "counting", False) or not _is_the_profilers():
            return
        self._inside.counting = True
        try:
            self.made += 1
            if self.made == self.number or (self.and_all_later and self.number and self.made > self.number):
                self.failed.append(name)
                kinds = ERRORS[name]
                number = kinds[self.made % len(kinds)]
                raise OSError(number, os.strerror(number)) if number else RuntimeError("can't start new thread")
        finally:
            self._inside.counting = False


def _is_the_profilers() -> bool:
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("stepscope.profiler"):
            return True
        frame = frame.f_back
    return False
