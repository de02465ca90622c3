"""Nothing breaks the training: a fault of ours becomes one warning that says what to do.

What a signal handler of the job's raises meanwhile is no fault of ours, and reaches the job.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.own_faults import ours
from stepscope.profiler.foundation.wrapping import named_like

Function = TypeVar("Function", bound=Callable[..., Any])

#: What a known failure looks like, by words of its text, and the sentence with its remedy.
_BY_TEXT = (
    (("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", "ERR_NVGPUCTRPERM", "insufficient privileges"), "fault_gpu_counters"),
    (("out of memory", "Cannot allocate memory", "bad_alloc", "MemoryError"), "fault_no_memory"),
    (("No space left on device",), "fault_no_space"),
    (("Kineto is not available", "Can't find profiler"), "fault_no_kineto"),
    (("libascendcl", "libprofapi", "CANN", "ASCEND_HOME_PATH", "aclInit"), "fault_ascend_software"),
    (("No CUDA GPUs", "Found no NVIDIA driver", "CUDA driver"), "fault_no_accelerator"),
)
_BY_NUMBER = {
    errno.ENOSPC: "fault_no_space",
    errno.EDQUOT: "fault_no_space",
    errno.ENOMEM: "fault_no_memory",
    errno.EROFS: "fault_read_only",
    errno.EACCES: "fault_no_permission",
    errno.EPERM: "fault_no_permission",
    errno.ENOTDIR: "fault_bad_path",
    errno.EEXIST: "fault_bad_path",
    errno.ENOENT: "fault_bad_path",
    errno.ENAMETOOLONG: "fault_bad_path",
    errno.ELOOP: "fault_bad_path",
    errno.EMFILE: "fault_many_files",
}

_OF_THE_MACHINE = ("fault_no_space", "fault_read_only", "fault_many_files")


def guarded(function: Function) -> Function:
    """A function whose exceptions become one warning; it returns None then."""

    @named_like(function)
    def safe(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ours(Exception) as error:
            report(function.__qualname__, error)
            return None

    return safe  # type: ignore[return-value]


def attempt(what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Call a function; whether it went well. A fault is reported under the name ``what``."""
    try:
        function(*args, **kwargs)
    except ours(Exception) as error:
        report(what, error)
        return False
    return True


def report(what: str, error: BaseException) -> None:
    """Say what failed, with the remedy where the failure is a known one."""
    if os.environ.get("STEPSCOPE_DEBUG"):
        import traceback

        traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)
    key = remedy(error)
    reason = f"{type(error).__name__}: {error}".strip()[:500]
    # The state of the machine is one fault, however many files it hits.
    warn(key, what=what, reason=reason, once_for=key if key in _OF_THE_MACHINE else None)


def remedy(error: BaseException) -> str:
    """The key of the sentence for a failure.

    >>> remedy(OSError(errno.ENOSPC, "No space left on device")), remedy(KeyError("x"))
    ('fault_no_space', 'fault')
    """
    if isinstance(error, MemoryError):
        return "fault_no_memory"
    if isinstance(error, OSError) and error.errno in _BY_NUMBER:
        return _BY_NUMBER[error.errno]
    text = str(error)
    return next((key for words, key in _BY_TEXT if any(word in text for word in words)), "fault")
