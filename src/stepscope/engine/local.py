"""Per-rank tasks on processes of this machine: spawned, never forked, one Polars thread each."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Final, TypeVar

from stepscope.errors import UnreadableInputError

_LOOK_AGAIN_SECONDS: Final = 0.2

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    executor: Executor | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Task, Result | Exception]]:
    """Results as they come, each with its task; an exception is given back, not raised.

    ``executor`` is the seam for other engines; without one, processes of this machine do the work. ``meanwhile`` is
    called now and then, and may raise to end it all: what waits is not begun then.
    """
    if executor is not None:
        yield from _submit_all(function, tasks, executor, meanwhile)
        return
    lost: list[Task] = []
    for task, result in _in_processes(function, tasks, os.cpu_count() or 1, meanwhile):
        if isinstance(result, BrokenProcessPool):
            lost.append(task)  # because of its own worker or of another one: unknown
        else:
            yield task, result
    # Again, one by one: this shows which task kills its process, and leaves more memory free.
    for task in lost:
        for _, result in _in_processes(function, [task], 1, meanwhile):
            yield task, UnreadableInputError("worker_died") if isinstance(result, BrokenProcessPool) else result


def _in_processes(
    function: Callable[[Task], Result], tasks: Sequence[Task], most: int, meanwhile: Callable[[], None]
) -> Iterator[tuple[Task, Result | Exception]]:
    workers = max(1, min(len(tasks), most))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, end_with_parent) as pool, _ONE_POLARS_THREAD:
        yield from _submit_all(function, tasks, pool, meanwhile)


def end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever, and write into a store that others use now."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()


def _submit_all(
    function: Callable[[Task], Result], tasks: Sequence[Task], executor: Executor, meanwhile: Callable[[], None]
) -> Iterator[tuple[Task, Result | Exception]]:
    waiting: dict[Future[Result], Task] = {}
    with without_main_module():
        for task in tasks:
            try:
                waiting[executor.submit(function, task)] = task
            except BrokenProcessPool as error:  # a task started earlier has already ended the process
                yield task, error
    try:
        running = set(waiting)
        while running:
            meanwhile()
            finished, running = wait(running, _LOOK_AGAIN_SECONDS, FIRST_COMPLETED)
            for done in finished:
                try:
                    yield waiting[done], done.result()
                except Exception as error:
                    yield waiting[done], error
    finally:
        # Wait for what has begun, so that the cleanup finds all that was written.
        wait([future for future in waiting if not future.cancel()])


class _OnePolarsThread:
    """Children inherit the variable when they start; this process read it long ago. Blocks may overlap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: str | None = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = os.environ.get("POLARS_MAX_THREADS")
                os.environ["POLARS_MAX_THREADS"] = "1"
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside:
                return
            if self._before is None:
                del os.environ["POLARS_MAX_THREADS"]
            else:
                os.environ["POLARS_MAX_THREADS"] = self._before


_ONE_POLARS_THREAD: Final = _OnePolarsThread()
_MAIN_MODULE: Final = threading.Lock()


@contextlib.contextmanager
def without_main_module() -> Iterator[None]:
    """Keep spawned children from running the user's script again, which a script without a main guard would suffer."""
    main = sys.modules["__main__"]
    with _MAIN_MODULE:
        hidden: dict[str, object] = {
            name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__
        }
        main.__spec__ = None
        try:
            yield
        finally:
            main.__dict__.update(hidden)
