"""Per-rank tasks on processes of this machine: spawned, never forked, one Polars thread each."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from stepscope.errors import UnreadableInputError

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_tasks(
    function: Callable[[Task], Result], tasks: Sequence[Task], executor: Executor | None = None
) -> Iterator[tuple[Task, Result | Exception]]:
    """Results as they come, each with its task; an exception is given back, not raised.

    ``executor`` is the seam for other engines; without one, processes of this machine do the work.
    """
    if executor is not None:
        yield from _submit_all(function, tasks, executor)
        return
    workers = max(1, min(len(tasks), os.cpu_count() or 1))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _end_with_parent) as pool, _one_polars_thread():
        yield from _submit_all(function, tasks, pool)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever, and write into a store that others use now."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()


def _submit_all(
    function: Callable[[Task], Result], tasks: Sequence[Task], executor: Executor
) -> Iterator[tuple[Task, Result | Exception]]:
    with _without_main_module():
        waiting = {executor.submit(function, task): task for task in tasks}
    try:
        for done in as_completed(waiting):
            try:
                yield waiting[done], done.result()
            except BrokenProcessPool:
                raise UnreadableInputError("worker_died") from None
            except Exception as error:
                yield waiting[done], error
    finally:
        # What has begun is waited for: whoever cleans up must find all that was written.
        wait([future for future in waiting if not future.cancel()])


@contextlib.contextmanager
def _one_polars_thread() -> Iterator[None]:
    """Children take the variable over when they start; this process has read it long ago."""
    before = os.environ.get("POLARS_MAX_THREADS")
    os.environ["POLARS_MAX_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["POLARS_MAX_THREADS"]
        else:
            os.environ["POLARS_MAX_THREADS"] = before


@contextlib.contextmanager
def _without_main_module() -> Iterator[None]:
    """Keep spawned children from running the user's script again, which a script without a main guard would suffer."""
    main = sys.modules["__main__"]
    hidden: dict[str, object] = {
        name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__
    }
    main.__spec__ = None
    try:
        yield
    finally:
        main.__dict__.update(hidden)
