"""Python's garbage collector in PyTorch's trace, which shows it only where all Python calls are recorded, too."""

from __future__ import annotations

import gc
from typing import Any

from stepscope.profiler.foundation.guard import guarded

#: As PyTorch itself names it.
NAME = "Python GC"
#: Collections of the youngest objects alone take microseconds and are many.
LEAST_GENERATION = 1


class GarbageMarks:
    """A range around each collection, from :meth:`start` to :meth:`stop`. Collections never overlap in a process.

    The range is PyTorch's fast one, which is no operator: a collection may fall into the tracing of a compiler, where
    an operator would become part of the compiled model.
    """

    def __init__(self, torch: Any) -> None:
        self._new_range = getattr(torch._C._profiler, "_RecordFunctionFast", None)  # since PyTorch 2.1
        self._range: Any = None
        self._callback = guarded(self._collects)  # one object, to be found again in the list

    def start(self) -> None:
        """Mark collections from now on."""
        if self._new_range is not None:
            gc.callbacks.append(self._callback)

    def stop(self) -> None:
        """Mark no more; called again, it does nothing."""
        if self._callback in gc.callbacks:
            gc.callbacks.remove(self._callback)
        self._close()

    def _collects(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] >= LEAST_GENERATION and self._new_range is not None:
            self._range = self._new_range(NAME)
            self._range.__enter__()
        else:
            self._close()

    def _close(self) -> None:
        marked, self._range = self._range, None
        if marked is not None:
            marked.__exit__(None, None, None)
