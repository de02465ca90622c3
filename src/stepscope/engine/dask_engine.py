"""Tasks on the workers of a Dask scheduler. Dask runs a task again elsewhere when its worker is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Final

from stepscope.errors import UsageError

_SECONDS_TO_CONNECT: Final = 20


@contextlib.contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """An executor whose tasks run on the scheduler's workers, until the block ends."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("engine_missing", package="dask.distributed") from error
    try:
        client = Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError("engine_unreachable", address=address, reason=str(error) or type(error).__name__) from error
    with client:
        if not client.nthreads():
            raise UsageError("engine_without_workers", address=address)
        with client.get_executor(pure=False) as executor:
            yield executor
