"""A progress bar for long reads, on a terminal only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

Progress = Callable[[int, int], None]


@contextlib.contextmanager
def progress_bar(wanted: Progress | bool | None = None) -> Iterator[Progress | None]:
    """What to call with bytes done and bytes in all. A function is passed through; False means silence."""
    if callable(wanted):
        yield wanted
        return
    if wanted is False or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    with Progress(
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
