"""``profiler_status_HOST_PID.json`` beside the config: what the job made of it, for people and for the trigger."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from stepscope.profiler.dynamic.agreement import Agreement
from stepscope.profiler.dynamic.board import Board, process_started
from stepscope.profiler.dynamic.history import History
from stepscope.profiler.foundation.guard import report
from stepscope.profiler.foundation.line_files import read_regular, write_json
from stepscope.profiler.foundation.own_faults import ours, suppressed

SCHEMA = "stepscope.dynamic/1"
PATTERN = "profiler_status_*.json"
STATES = ("idle", "recording", "parsing", "ended")
_MOST_BYTES = 1 << 20
_EVERY_S = 10.0


class StatusFile:
    """Written by the leader when something changed; says once that it cannot be written."""

    def __init__(self, folder: Path, output: str) -> None:
        self._history = History(output)
        self.path = folder / f"profiler_status_{socket.gethostname()}_{os.getpid()}.json"
        self._written: dict[str, Any] = {}
        self._next_s = 0.0
        self._works = True
        _sweep(folder)

    def write(self, board: Board, agreed: Agreement, ended: bool = False) -> None:
        """What is known now; that the training goes on is written now and then, all else at once."""
        places = sorted(board.places(), key=lambda entry: entry.rank)
        content: dict[str, Any] = {
            "schema": SCHEMA,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "process_started": process_started(os.getpid()),
            "state": "ended" if ended else agreed.outcome,
            "request": agreed.mark,
            "windows": [{"start": one.start, "stop": one.stop} for one in agreed.windows],
            "ranks": [
                {"rank": entry.rank, "pid": entry.pid, "step": entry.step, "state": STATES[entry.state]}
                for entry in places
            ],
            "history": self._history.entries(agreed, places, STATES),
        }
        news = {**content, "ranks": [{**rank, "step": None} for rank in content["ranks"]]}
        if not self._works or (news == self._written and time.monotonic() < self._next_s):
            return
        try:
            write_json(self.path, {**content, "time_ns": time.time_ns()})
            self._written = news
            self._next_s = time.monotonic() + _EVERY_S
        except ours(OSError) as error:
            self._works = False
            report(self.path.name, error)


def statuses(folder: Path) -> list[dict[str, Any]]:
    """All status files of a folder that can be read."""
    contents = []
    for path in sorted(folder.glob(PATTERN)):
        with suppressed(OSError, ValueError, RecursionError):
            content = json.loads(read_regular(path, _MOST_BYTES)[0])
            if isinstance(content, dict) and content.get("schema") == SCHEMA:
                contents.append({**content, "file": str(path)})
    return contents


def _sweep(folder: Path) -> None:
    """Jobs of this host that are gone leave nothing behind once the next one starts."""
    for status in statuses(folder):
        pid = status.get("pid")
        if not isinstance(pid, int) or status.get("host") != socket.gethostname():
            continue
        started = process_started(pid)
        if not started or started != status.get("process_started"):
            with suppressed(OSError):
                Path(status["file"]).unlink()
