"""A progress bar for long reads, on a terminal only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

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
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None)
        yield _Bar(bar, task)


class _Bar:
    """Bytes as a bar; before it, for several ranks, how many of them are done."""

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task = bar, task

    def __call__(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)

    def tell_ranks(self, done: int, total: int) -> None:
        if total > 1:
            self._bar.update(self._task, description=f"{done}/{total}")
