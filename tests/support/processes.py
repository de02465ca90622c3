"""Processes that read ranks for many tests: starting two for every capture takes longer than reading it."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from stepscope.engine.local import _ONE_POLARS_THREAD, end_with_parent, run_tasks


class LastingProcesses:
    """``run_tasks`` of ``engine/local.py`` with two processes that stay until the end."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._starting = threading.Lock()

    def run_tasks(
        self, function: Callable[[Any], Any], tasks: Sequence[Any], executor: Executor | None = None, *meanwhile: Any
    ) -> Iterator[tuple[Any, Any]]:
        lost = []
        for task, result in run_tasks(function, tasks, executor or self._ready(), *meanwhile):
            if executor is None and isinstance(result, BrokenProcessPool):
                lost.append(task)
            else:
                yield task, result
        if lost:  # a task ended its process: as users have it, and with new processes for the next
            self.close()
            yield from run_tasks(function, lost, None, *meanwhile)

    def _ready(self) -> ProcessPoolExecutor:
        with self._starting:
            if self._pool is None:
                with _ONE_POLARS_THREAD:
                    self._pool = ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), end_with_parent)
                    list(self._pool.map(abs, range(4)))
            return self._pool

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
