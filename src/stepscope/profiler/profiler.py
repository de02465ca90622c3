"""Offline: turns what was recorded into the documented files, at any time, again and again, on any machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from stepscope.layout.names import CAPTURE_FILE
from stepscope.profiler.foundation.guard import guarded
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.handover.parsing import parse


@guarded
def analyse(
    profiler_path: str,
    max_process_number: int | None = None,
    pretty: bool = False,
    step_list: list[int] | None = None,
    data_simplification: bool = True,
) -> None:
    """Write the documented files of the capture at a path, or of all captures below it.

    ``pretty`` is accepted and changes nothing; ``step_list`` keeps only these consecutive steps.
    """
    del pretty
    path = Path(profiler_path)
    windows = captures(path)
    if not windows:
        warn("nothing_to_parse", directory=str(path))
        return
    parse(path, simplify=data_simplification, steps=steps_of(step_list), jobs=_processes(max_process_number))


def captures(path: Path) -> list[Path]:
    """Directories of recorded windows at or below a place."""
    windows = []
    for folder, below, files in os.walk(path):
        if CAPTURE_FILE in files:
            windows.append(Path(folder))
            below.clear()
        else:
            below.sort()
    return windows


def steps_of(wanted: Any) -> list[int] | None:
    """A step list of the documents; one that is none is named and left out."""
    if wanted is None:
        return None
    good = isinstance(wanted, (list, tuple)) and all(type(step) is int and step >= 0 for step in wanted)
    steps = sorted(wanted) if good else []
    if not steps or steps != list(range(steps[0], steps[0] + len(steps))):
        warn("step_list", value=repr(wanted)[:100])
        return None
    return steps


def _processes(wanted: Any) -> int | None:
    if wanted is None or (type(wanted) is int and wanted > 0):
        return wanted
    warn("process_number", value=repr(wanted)[:100])
    return None
