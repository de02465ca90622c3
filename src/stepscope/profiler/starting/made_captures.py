"""Which captures the processes of one command have made: each writes its own into a directory that they share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from stepscope.profiler.foundation.line_files import read_regular
from stepscope.profiler.foundation.own_faults import ours

#: File systems keep times more coarsely than the clock.
_CLOCK_S = 2.0
_MOST_BYTES = 1 << 20


def is_any_made_since(since_s: float, output: Path) -> bool:
    """Whether any process has begun or ended a capture since then."""
    return any(_made_since(since_s, output))


def are_steps_recorded_since(since_s: float, output: Path) -> bool:
    """Whether any process trains: such captures have a schedule, those of some time have none."""
    return any(_has_schedule(file) for file in _made_since(since_s, output))


def _made_since(since_s: float, output: Path) -> Iterator[Path]:
    try:
        with os.scandir(output) as entries:
            files = [Path(entry.path, "stepscope.json") for entry in entries]
    except ours(OSError):
        return  # nobody has made it
    for file in files:
        try:
            if os.stat(file).st_mtime >= since_s - _CLOCK_S:  # noqa: PTH116 (pathlib loses exceptions of the job's)
                yield file
        except ours(OSError):
            continue


def _has_schedule(file: Path) -> bool:
    try:
        about = json.loads(read_regular(file, _MOST_BYTES)[0])
    except ours(OSError, ValueError):
        return False  # gone
    return bool(about.get("switches", {}).get("schedule"))
