"""Information on processes from Linux; on other systems these rows are left out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from stepscope.profiler.foundation.own_faults import ours

_PROC = Path("/proc")
_TICK_NS = 10**9 // (os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100)
#: A file is read per thread: a process of more of them (an accelerator's runtime has hundreds) is not asked.
_MOST_THREADS = 32
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Used(NamedTuple):
    """Processor time since a process or the machine began; what is not known is None."""

    user_ns: int
    system_ns: int
    io_ns: int | None = None
    idle_ns: int | None = None
    runnable: int | None = None
    context_switches: int | None = None


def own_use() -> Used | None:
    """Of this process, exact to the microsecond."""
    try:
        import resource
    except ours(ImportError):
        return None
    usage = resource.getrusage(resource.RUSAGE_SELF)
    switches = usage.ru_nvcsw + usage.ru_nivcsw
    return Used(round(usage.ru_utime * 1e9), round(usage.ru_stime * 1e9), context_switches=switches)


def use_of(pid: int) -> Used | None:
    """Of another process, exact to the system's clock tick; None if it is gone."""
    fields = _after_name(pid)
    return Used(int(fields[11]) * _TICK_NS, int(fields[12]) * _TICK_NS) if fields else None


def machine_use() -> Used | None:
    """Of all processors together."""
    try:
        lines = (_PROC / "stat").read_text().splitlines()
    except ours(OSError):
        return None
    words = {line.split(maxsplit=1)[0]: line.split()[1:] for line in lines if not line.startswith(("cpu0", "intr"))}
    user, nice, system, idle, io, interrupt, soft = (int(value) * _TICK_NS for value in words["cpu"][:7])
    return Used(
        user + nice,
        system + interrupt + soft,
        io,
        idle,
        int(words["procs_running"][0]),
        int(words["ctxt"][0]),
    )


def waited_ns() -> dict[str, int] | None:
    """How long each thread of this process has been ready to run without a core; None where that is not known."""
    try:
        threads = os.listdir(_PROC / "self" / "task")  # noqa: PTH208 (their names are enough)
        if len(threads) > _MOST_THREADS:
            return None
        return {thread: _waited_ns(thread) for thread in threads}
    except ours(OSError, IndexError, ValueError):
        return None


def _waited_ns(thread: str) -> int:
    try:
        return int((_PROC / "self" / "task" / thread / "schedstat").read_text().split()[1])
    except ours(FileNotFoundError):
        if (_PROC / "self" / "schedstat").exists():
            return 0  # the thread has ended
        raise


def children() -> list[int]:
    """Processes that this one started through multiprocessing and that still run, such as data loader workers.

    The system could name all children, but it costs a file per thread, of which a training process has hundreds;
    ``active_children`` would reap them behind the job's back.
    """
    known: Any = sys.modules.get("multiprocessing.process")
    started = list(getattr(known, "_children", ()))
    return [child.pid for child in started if child.pid is not None]


def resident_bytes(pid: int) -> int | None:
    """Memory that a process holds in RAM."""
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * PAGE_BYTES
    except ours(OSError, IndexError, ValueError):
        return None


def machine_memory() -> tuple[int, int] | None:
    """Bytes in use and in all."""
    try:
        lines = (_PROC / "meminfo").read_text().splitlines()
        kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
        return (kilobytes["MemTotal"] - kilobytes["MemAvailable"]) * 1024, kilobytes["MemTotal"] * 1024
    except ours(OSError, KeyError, IndexError, ValueError):
        return None


def _after_name(pid: int) -> list[str]:
    """The fields of ``stat`` behind the name, which may itself hold spaces and brackets."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except ours(OSError):
        return []
