"""MindSpore's dataset engine: which pipeline it watches, and when it may be told to watch another.

Its manager watches the first pipeline that is built after ``init()`` and keeps a pointer to it. MindSpore 2.10 crashes
the process if it is started when that pipeline is gone, or initialised again while it lives. So we follow what is
built for as long as the process lives, hold the watched pipeline during a window, and initialise again only when it
is gone.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stepscope.profiler.foundation.guard import attempt
from stepscope.profiler.foundation.wrapping import named_like

#: Fine enough for a window of a few steps; the engine's own default is a second.
_INTERVAL_MS = 10

#: Classes that build a pipeline: for the host's own loop, and for a device's queue.
_BUILDERS = (
    ("mindspore.dataset.engine.iterators", "Iterator"),
    ("mindspore.dataset.engine.datasets", "_ToDevice"),
)


class Engine:
    """The profiling manager of this process; there is one."""

    def __init__(self) -> None:
        self._manager: Any = None
        self._config: Any = None
        self._watched: weakref.ref[Any] | None = None  # None: the next one that is built
        self._held: Any = None
        self._running = False

    def expect(self) -> None:
        """A window may come: the pipeline that is built next shall be one that can be watched."""
        if self._manager is None:
            manager = importlib.import_module("mindspore._c_dataengine").GlobalContext.profiling_manager()
            manager.init()
            self._config = importlib.import_module("mindspore.dataset.core.config")
            for module, name in _BUILDERS:
                self._follow(getattr(importlib.import_module(module), name))
            self._manager = manager
        elif self._watched is not None and self._watched() is None:
            self._manager.init()
            self._watched = None

    def start(self) -> None:
        """A window records."""
        self.expect()
        self._held = None if self._watched is None else self._watched()
        self._manager.start()
        self._running = True

    def stop(self) -> None:
        """The window ends."""
        if self._running:
            self._running = False
            self._manager.stop()
            if self._held is None:
                self._manager.init()

    def save(self, folder: Path) -> bool:
        """Write what was recorded, and let the pipeline go; False if there was none."""
        held, self._held = self._held, None
        if held is not None:
            with self._often():  # it writes the interval that is set now, not that of the samples
                self._manager.save(str(folder))
        return held is not None

    @contextlib.contextmanager
    def _often(self) -> Iterator[None]:
        interval = self._config.get_monitor_sampling_interval()
        self._config.set_monitor_sampling_interval(_INTERVAL_MS)
        try:
            yield
        finally:
            self._config.set_monitor_sampling_interval(interval)

    def _follow(self, builder: Any) -> None:
        original = builder.__init__

        @named_like(original)
        def __init__(pipeline: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            attempt("mindspore.dataset", self.expect)
            if self._watched is not None:
                original(pipeline, *args, **kwargs)
                return
            often = self._often()
            attempt("mindspore.dataset", often.__enter__)
            try:
                original(pipeline, *args, **kwargs)
            finally:
                attempt("mindspore.dataset", often.__exit__, None, None, None)
            attempt("mindspore.dataset", self._watch, pipeline)

        builder.__init__ = __init__

    def _watch(self, pipeline: Any) -> None:
        self._watched = weakref.ref(pipeline)
        if self._running:
            self._held = pipeline
        else:  # only what was stopped can be initialised again
            self._manager.start()
            self._manager.stop()


engine = Engine()


def expect_pipeline() -> None:
    """Called when a profile or a monitor is made, which may be long before it records."""
    if "mindspore" in sys.modules:
        attempt("mindspore.dataset", engine.expect)
