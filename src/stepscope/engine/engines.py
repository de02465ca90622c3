"""Where the work per rank runs: processes of this machine, or the workers of a Dask scheduler.

``local`` is the default. ``dask=tcp://HOST:PORT`` hands each rank to a worker. Workers read the capture and write into
the store under the same paths as this process, so both lie on storage that all of them share.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from typing import Any, Final, TypeVar

from stepscope.errors import StepscopeError, UnreadableInputError, UsageError

Result = TypeVar("Result")
LOCAL: Final = "local"
_DASK: Final = "dask="
_KILLED: Final = "KilledWorker"  # of dask.distributed, which may not be there


@contextlib.contextmanager
def executor_of(engine: str | None) -> Iterator[Executor | None]:
    """What runs the tasks; None for processes of this machine. A scheduler is asked only when there is a task.

    >>> with executor_of("local") as executor:
    ...     print(executor)
    None
    """
    if engine is None or engine == LOCAL:
        yield None
        return
    address = engine.removeprefix(_DASK)
    if address in (engine, ""):
        raise UsageError("unknown_engine", engine=engine)
    with contextlib.ExitStack() as opened:
        yield _DaskOnDemand(address, opened)


class _DaskOnDemand(Executor):
    """Connects with the first task."""

    def __init__(self, address: str, opened: contextlib.ExitStack) -> None:
        self._address, self._opened = address, opened
        self._executor: Executor | None = None

    def submit(self, function: Callable[..., Result], /, *arguments: Any, **named: Any) -> Future[Result]:
        if self._executor is None:
            from stepscope.engine.dask_engine import dask_executor

            self._executor = self._opened.enter_context(dask_executor(self._address))
        return self._executor.submit(function, *arguments, **named)


def failure_of_engine(error: Exception) -> StepscopeError | None:
    """The error for a task that failed because of the engine; only that rank is lost."""
    if isinstance(error, StepscopeError):
        return error
    if type(error).__name__ == _KILLED or isinstance(error, CancelledError):
        return UnreadableInputError("worker_lost", reason=str(error) or type(error).__name__)
    if isinstance(error, ImportError):
        return UnreadableInputError("worker_lacks_stepscope", reason=str(error))
    return None
