"""Asks a running job for a window: changes ``profiler_config.json`` in one move, and sees what the job makes of it."""

from __future__ import annotations

import json
import os
import time
import uuid
from pathlib import Path
from typing import Any

from stepscope.profiler.dynamic.config import CONFIG_FILE, DEFAULTS, MOST_BYTES, NEXT_STEPS, REQUEST
from stepscope.profiler.dynamic.history import DONE
from stepscope.profiler.dynamic.status import statuses
from stepscope.profiler.foundation.line_files import read_regular
from stepscope.profiler.foundation.own_faults import ours

_LOOK_S = 0.2


def config_path(watched: Path) -> Path:
    """The config of a folder; the file itself may be given too.

    >>> config_path(Path("cfg")).as_posix(), config_path(Path("cfg/profiler_config.json")).as_posix()
    ('cfg/profiler_config.json', 'cfg/profiler_config.json')
    """
    return watched if watched.name == CONFIG_FILE else watched / CONFIG_FILE


def ask(
    watched: Path,
    *,
    start: int | None = None,
    stop: int | None = None,
    steps: int | None = None,
    **switches: Any,
) -> str:
    """Write a request for ``start`` to ``stop``, or for the next ``steps``; neither switches profiling off.

    Keys that are not named keep their value. Returns the mark by which the job's answer is known.
    """
    path = config_path(watched)
    content = {**_present(path), **switches}
    if (start, steps) != (None, None):
        _have_it_parsed(content, switches)
    content.pop(NEXT_STEPS, None)
    content["start_step"], content["stop_step"] = (-1 if start is None else start), (-1 if stop is None else stop)
    if steps is not None:
        content[NEXT_STEPS] = steps
    mark = content[REQUEST] = uuid.uuid4().hex[:12]
    _replace(path, content)
    return mark


def answers(watched: Path, mark: str, wait_s: float = 0.0) -> list[dict[str, Any]]:
    """What the jobs that watch this folder made of a request. Waits until their windows are on the disk, parsed where
    that was asked for, or the time is over."""
    end = time.monotonic() + wait_s
    while True:
        matching = [status for status in statuses(config_path(watched).parent) if status.get("request") == mark]
        if (matching and all(is_settled(status) for status in matching)) or time.monotonic() >= end:
            return matching
        time.sleep(min(_LOOK_S, max(0.0, end - time.monotonic())))


def known_jobs(watched: Path) -> list[dict[str, Any]]:
    """Jobs that have reported from this folder, whatever of."""
    return statuses(config_path(watched).parent)


def is_settled(status: dict[str, Any]) -> bool:
    """Whether a job has nothing more to do for its last request.

    >>> is_settled({"state": "missed"}), is_settled({"state": "agreed", "history": [{"state": "recording"}]})
    (True, False)
    """
    history = status.get("history", [])
    if status.get("state") == "agreed" and not any(entry.get("request") == status.get("request") for entry in history):
        return False
    return all(entry.get("state") == DONE for entry in history) or status.get("state") == "ended"


def directories(job_statuses: list[dict[str, Any]], mark: str) -> list[str]:
    """Where the windows of a request are; of one that ended a window, where that one is."""
    entries = [(entry, status) for status in job_statuses for entry in status.get("history", [])[-1:]]
    return [
        directory
        for entry, status in entries
        if entry.get("request") == mark or status.get("state") in ("idle", "ended")
        for directory in entry.get("directories", [])
    ]


def _have_it_parsed(content: dict[str, Any], switches: dict[str, Any]) -> None:
    """Who asks for a window wants to read it: it is parsed, beside the training, unless the request says otherwise."""
    if "analyse" not in switches:
        content["analyse"] = True
    if "analyse_mode" not in switches and content.get("analyse_mode") not in (0, 1):
        content["analyse_mode"] = 1


def _present(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_regular(path, MOST_BYTES)[0])
    except ours(OSError, ValueError, RecursionError):  # somebody is writing it, or broke it: the request makes it whole
        return dict(DEFAULTS)
    return content if isinstance(content, dict) else dict(DEFAULTS)


def _replace(path: Path, content: dict[str, Any]) -> None:
    """Readers see the old file or the new one; who could read the old one can read the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}")
    try:
        draft.write_text(json.dumps(content, indent=4, ensure_ascii=False), encoding="utf-8")
        if path.exists():
            draft.chmod(path.stat().st_mode & 0o777)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
