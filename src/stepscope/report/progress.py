"""A progress bar for long reads and a sign of life for other work, on a terminal only."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from stepscope.texts import text

Progress = Callable[[int, int], None]
Item = TypeVar("Item")
_PATIENCE_S: Final = 1.0


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


@contextlib.contextmanager
def working(lang: str) -> Iterator[None]:
    """A sign of life on a terminal while something takes longer than a second; not around a progress bar."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(text("report.working", lang))
    timer = threading.Timer(_PATIENCE_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def each_worked_for(items: Iterable[Item], lang: str) -> Iterator[Item]:
    """Things that take long to come, with a sign of life while each is awaited and none while it is told."""
    coming = iter(items)
    while True:
        with working(lang):
            try:
                item = next(coming)
            except StopIteration:
                return
        yield item


class _Bar:
    """Bytes as a bar; before it, for several ranks, how many of them are done."""

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task = bar, task

    def __call__(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)

    def tell_ranks(self, done: int, total: int) -> None:
        if total > 1:
            self._bar.update(self._task, description=f"{done}/{total}")
