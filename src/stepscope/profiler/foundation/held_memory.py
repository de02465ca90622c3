"""How much memory this process has in use: as glibc's allocator counts it, else by its resident pages.

Small blocks that a recorder keeps between the large ones of a training hold pages on which little else lies: of a
training on a CPU that grew by 200 MB while PyTorch recorded it, the recording held 8 MB. That loss of the heap is not
what the recording will write.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from stepscope.profiler.foundation.own_faults import ours

#: The fields of ``struct mallinfo2``, all of one type.
_COUNTS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
#: Large enough to stand out from what other threads do meanwhile, small enough to cost nothing.
_PROBE_BYTES = 1 << 20


def measure_of_held_memory() -> Callable[[], int]:
    """What tells the bytes in use from now on; two values of one measure can be compared."""
    return allocated_bytes() or resident_bytes


def resident_bytes() -> int:
    """Memory of this process that is in use; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 (once a step)
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except ours(OSError, ValueError, IndexError):
        return 0


def allocated_bytes() -> Callable[[], int] | None:
    """Bytes in blocks of glibc's allocator; None where there is none, or another one does the work."""
    import ctypes

    class Counts(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in _COUNTS]

    try:
        library = ctypes.CDLL(None)
        counts, malloc, free = library.mallinfo2, library.malloc, library.free
    except ours(OSError, AttributeError, TypeError):
        return None
    counts.restype, malloc.restype = Counts, ctypes.c_void_p
    malloc.argtypes, free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]

    def allocated() -> int:
        now = counts()
        return int(now.uordblks + now.hblkhd)

    before = allocated()
    probe = malloc(_PROBE_BYTES)
    seen = allocated() - before
    free(probe)
    return allocated if seen >= _PROBE_BYTES // 2 else None  # jemalloc and tcmalloc leave these counts as they are
