"""The line that ends every recording: where it is, how long it took, and what to do next."""

from __future__ import annotations

import shlex
import time

from stepscope.profiler.foundation.amounts import duration, size
from stepscope.profiler.foundation.messages import tell
from stepscope.profiler.foundation.paths import bytes_below, is_directory
from stepscope.profiler.handover.finished_window import FinishedWindow


def announce(finished: FinishedWindow) -> None:
    """Say it once for all ranks: their windows lie side by side, and one command reads them together."""
    if finished.rank != 0:
        return
    directory = finished.directory
    if not is_directory(directory):
        tell("recording_gone", directory=str(directory))
        return
    what = directory if finished.world_size == 1 else directory.parent
    tell(
        "recorded_steps" if finished.steps else "recorded_time",
        steps=finished.steps,
        took=duration(finished.seconds),
        size=size(bytes_below(directory)),
        after=duration(max(0, time.time_ns() - finished.stopped_ns) / 1e9),
        directory=str(directory),
        command=f"stepscope diagnose {shlex.quote(str(what))}",
    )
