"""Stopping the server while a capture is read."""

from __future__ import annotations

import multiprocessing
import time
from typing import Any, cast

from stepscope.server.serve import _end_reading
from support.limits import HANGS_AFTER_S


class _Reading:
    """A library that reads for as long as its worker process lives."""

    def __init__(self) -> None:
        self.worker = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(HANGS_AFTER_S,))
        self.worker.start()

    def is_reading(self) -> bool:
        return self.worker.is_alive()


def test_worker_processes_of_a_read_are_ended_so_that_python_ends_as_usual() -> None:
    reading = _Reading()
    _end_reading(cast(Any, reading))
    assert not reading.worker.is_alive()
    assert reading.worker.exitcode != 0
