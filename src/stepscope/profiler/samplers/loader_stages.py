"""Times what a data loader does for a batch: reading the dataset and collating, in whichever process does it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepscope.layout.names import STAGES_FILE
from stepscope.profiler.foundation.guard import report
from stepscope.profiler.foundation.line_files import LineStream
from stepscope.profiler.foundation.own_faults import ours
from stepscope.profiler.samplers.loader_switch import AlwaysOff, Switch

_FETCHERS = ("_MapDatasetFetcher", "_IterableDatasetFetcher")


class StageTimer:
    """Writes a line per stage and batch while the switch is on."""

    def __init__(self, switch: Switch | AlwaysOff) -> None:
        self.switch = switch
        self._stream: LineStream | None = None
        self._owner = 0

    def write(self, stage: str, start_ns: int, end_ns: int, samples: int | None = None) -> None:
        """One piece of work."""
        folder = self.switch.folder()
        if folder is None:
            return
        record = {"stage": stage, "start_ns": start_ns, "end_ns": end_ns, "pid": os.getpid(), "worker": _worker()}
        if samples is not None:
            record["samples"] = samples
        self._opened(folder).write(record)

    def _opened(self, folder: Path) -> LineStream:
        if self._stream is None or self._stream.path.parent != folder or self._owner != os.getpid():
            if self._stream is not None:
                self._stream.close()
            self._stream, self._owner = LineStream(folder / STAGES_FILE), os.getpid()
        return self._stream

    def close(self) -> None:
        """Let go of the file."""
        if self._stream is not None and self._owner == os.getpid():
            self._stream.close()
            self._stream = None


def time_fetchers(timer: StageTimer) -> Callable[[], None]:
    """Time every fetch of this process from now on; returns what takes it back."""
    from torch.utils.data._utils import fetch

    undo: list[Callable[[], None]] = [
        replace(getattr(fetch, name), "fetch", _timed(getattr(fetch, name).fetch, timer)) for name in _FETCHERS
    ]

    def take_back() -> None:
        for back in undo:
            back()

    return take_back


class TimedWorkerLoop:
    """Stands in for PyTorch's worker loop, so that spawned workers, which inherit nothing, time their fetches too."""

    def __init__(self, switch: Switch | AlwaysOff, original: Callable[..., Any] | None = None) -> None:
        self._switch = switch
        self._original = original

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        original = self._original
        if original is None:  # spawned: nothing of the parent's is here
            from torch.utils.data._utils import worker

            original = worker._worker_loop
            try:
                time_fetchers(StageTimer(self._switch))
            except ours(Exception) as error:
                report("data loader worker", error)
        return original(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return TimedWorkerLoop, (self._switch,)


def _timed(original: Callable[..., Any], timer: StageTimer) -> Callable[..., Any]:
    def fetch(self: Any, index: Any) -> Any:
        if timer.switch.folder() is None:
            return original(self, index)
        collate = self.collate_fn
        collating: list[int] = []

        def timed_collate(data: Any) -> Any:
            collating.append(time.time_ns())
            collated = collate(data)
            collating.append(time.time_ns())
            return collated

        self.collate_fn = timed_collate
        start = time.time_ns()
        try:
            data = original(self, index)
        finally:
            self.collate_fn = collate
        try:
            samples = len(index) if isinstance(index, (list, tuple)) else None
            timer.write("dataset", start, collating[0] if collating else time.time_ns(), samples)
            if len(collating) == 2:
                timer.write("collate", collating[0], collating[1], samples)
        except ours(Exception) as error:
            report("data loader", error)
        return data

    return fetch


def replace(owner: Any, name: str, new: Any) -> Callable[[], None]:
    """Put something in place of an attribute; what is returned puts the old one back, unless somebody else came in."""
    old = getattr(owner, name)
    setattr(owner, name, new)

    def back() -> None:
        if getattr(owner, name) is new:
            setattr(owner, name, old)

    return back


def _worker() -> int | None:
    from torch.utils.data import get_worker_info

    info = get_worker_info()
    return None if info is None else int(info.id)
