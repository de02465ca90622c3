"""Memory, disk and the cache of this machine."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

from stepscope.doctor.check import Check, Sentence, State
from stepscope.facts.doctor import doctor_facts
from stepscope.store.location import default_root

_GIB: Final = 1 << 30
#: More than one block, so that the file system has to find room for it.
_PROBE_BYTES: Final = 1 << 16


def resource_checks() -> list[Check]:
    """What is free, and whether the cache can be written."""
    root = default_root()
    return [_memory(), _disk("disk_here", Path.cwd()), _disk("disk_cache", _existing(root)), _cache(root)]


def free_memory_bytes(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """What programs can still take without swapping; None where the system does not tell."""
    try:
        available = re.search(r"MemAvailable:\s*(\d+) kB", meminfo.read_text())
    except OSError:
        return None
    return int(available[1]) * 1024 if available else None


def _memory() -> Check:
    free = free_memory_bytes()
    if free is None:
        return Check(section="resources", name="memory", state="absent")
    low = free < doctor_facts().least_memory_gib * _GIB
    remedy = Sentence.of("doctor_remedy.memory") if low else None
    state: State = "warning" if low else "ok"
    return Check(section="resources", name="memory", state=state, value=_size(free), remedy=remedy)


def _disk(name: str, directory: Path) -> Check:
    try:
        free = shutil.disk_usage(directory).free
    except OSError:
        return Check(section="resources", name=name, state="absent", value=str(directory))
    low = free < doctor_facts().least_disk_gib * _GIB
    remedy = Sentence.of("doctor_remedy.disk", path=directory) if low else None
    state: State = "warning" if low else "ok"
    value = f"{_size(free)} ({directory})"
    return Check(section="resources", name=name, state=state, value=value, remedy=remedy)


def _cache(root: Path) -> Check:
    writable = _can_be_written(_existing(root))
    remedy = None if writable else Sentence.of("doctor_remedy.cache", path=root)
    return Check(
        section="resources", name="cache", state="ok" if writable else "problem", value=str(root), remedy=remedy
    )


def _can_be_written(directory: Path) -> bool:
    """By trying: rights alone do not tell of a full disk, a quota, or a file system that takes no files."""
    try:
        with tempfile.TemporaryFile(dir=directory) as probe:
            probe.write(bytes(_PROBE_BYTES))
    except OSError:
        return False
    return True


def _existing(path: Path) -> Path:
    """The path, or the nearest directory above it that is there."""
    return next((each for each in (path, *path.parents) if each.exists()), Path("/"))


def _size(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"
