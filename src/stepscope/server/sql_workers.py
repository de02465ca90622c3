"""SQL queries in processes of their own: bounded in time, memory and bytes, and ended when nobody waits for them.

DuckDB can be interrupted only between pieces of work, and one function call may be such a piece; a process can always
be ended. Queries wait for a worker in a queue of their own, so that slow ones keep no other request waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import multiprocessing
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final

import polars as pl

from stepscope.engine.local import end_with_parent, without_main_module
from stepscope.errors import StepscopeError, UsageError, internal
from stepscope.facts.server import server_facts
from stepscope.store.query import Bounds, Selected, bounded
from stepscope.store.run_store import RunStore

_LOOK_AGAIN_SECONDS: Final = 0.05
_IS_GONE_SECONDS: Final = 0.25
_BESIDE_DUCKDB_BYTES: Final = 1 << 30

READY: Final = "ready"

Gone = Callable[[], Awaitable[bool]]


class SqlWorkers:
    """Some threads, each with a process that it feeds."""

    def __init__(self) -> None:
        facts = server_facts()
        self._threads = ThreadPoolExecutor(facts.sql_at_once, "stepscope-sql")
        self._room = threading.Semaphore(facts.sql_at_once + facts.most_sql_waiting)
        self._own = threading.local()
        self._closed = threading.Event()

    async def select(self, store: RunStore, query: str, rows: int, gone: Gone) -> Selected:
        """The result of a query; it ends early when its client is ``gone``."""
        if not self._room.acquire(blocking=False):
            raise UsageError("sql_busy")
        abandoned = threading.Event()
        try:
            work = asyncio.wrap_future(self._threads.submit(self._select, store, query, rows, abandoned))
            while not (await asyncio.wait({work}, timeout=_IS_GONE_SECONDS))[0]:
                if await gone():
                    work.cancel()
                    raise UsageError("sql_abandoned")
            return work.result()
        finally:
            abandoned.set()
            self._room.release()

    def close(self) -> None:
        """End the queries that run, and take no more."""
        self._closed.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _select(self, store: RunStore, query: str, rows: int, abandoned: threading.Event) -> Selected:
        """In a thread of ours: hand the query to this thread's process, and watch the clock."""
        if abandoned.is_set():
            raise UsageError("sql_abandoned")
        facts = server_facts()
        store.intact_files(lambda: list(store.manifest.sizes))  # mended here, where the capture is known
        bounds = Bounds(rows, facts.most_sql_answer_bytes, facts.most_sql_memory_bytes, facts.sql_threads)
        worker = self._worker()
        try:
            worker.connection.send((store.directory, store.manifest, dict(store.checked), query, bounds))
            deadline = time.monotonic() + facts.most_sql_seconds
            while not worker.connection.poll(_LOOK_AGAIN_SECONDS):
                if time.monotonic() > deadline:
                    raise UsageError("sql_too_long", seconds=facts.most_sql_seconds)
                if abandoned.is_set() or self._closed.is_set():
                    raise UsageError("sql_abandoned")
            answer = worker.connection.recv()
        except (EOFError, OSError) as error:  # the system ended it, most likely for its memory
            self._end(worker)
            raise UsageError("sql_too_much_memory", megabytes=facts.most_sql_memory_bytes >> 20) from error
        except BaseException:
            self._end(worker)
            raise
        if isinstance(answer, StepscopeError):
            raise answer
        content, cut = answer
        return Selected(pl.read_ipc(io.BytesIO(content)), cut)

    def _worker(self) -> _Worker:
        worker: _Worker | None = getattr(self._own, "worker", None)
        if worker is None or not worker.process.is_alive():
            worker = self._own.worker = _Worker()
        return worker

    def _end(self, worker: _Worker) -> None:
        worker.end()
        self._own.worker = None


class _Worker:
    """A process that answers queries, one after the other."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_answer_queries, args=(theirs,), daemon=True)
        with without_main_module():
            self.process.start()
        theirs.close()
        self.connection.recv()  # once it is ready, so that its start counts for no query

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _answer_queries(connection: Connection) -> None:
    """The work of the process, until nobody asks any more."""
    end_with_parent()
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        connection.send(READY)
        while True:
            directory, manifest, checked, query, bounds = connection.recv()
            _hold_memory(bounds.memory_bytes)
            connection.send(_answer(RunStore(directory, manifest, checked=checked), query, bounds))


def _hold_memory(limit: int) -> None:
    """DuckDB keeps its own memory within its limit; this holds for all the rest."""
    if sys.platform != "win32":
        import resource

        most = limit + _BESIDE_DUCKDB_BYTES
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _answer(store: RunStore, query: str, bounds: Bounds) -> StepscopeError | tuple[bytes, bool]:
    try:
        result = bounded(store, query, bounds)
        content = io.BytesIO()
        result.frame.write_ipc(content)
        return content.getvalue(), result.cut
    except StepscopeError as error:
        return error
    except MemoryError:
        return UsageError("sql_too_much_memory", megabytes=(bounds.memory_bytes or 0) >> 20)
    except BaseException as error:
        return internal(error)
