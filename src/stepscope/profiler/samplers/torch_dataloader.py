"""PyTorch's DataLoader: how long the training loop waits for a batch, what lies ready, and what each stage takes.

While a profile is started, the iterator's ``__next__``, the fetchers, the pinning and the loop of new workers are ours
and look at a switch first; outside a window that is all they do. Workers that were started before the profile are not
seen, only what comes out of them.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepscope.layout.names import BATCHES_FILE, LOADERS_FILE
from stepscope.profiler.foundation.guard import attempt, report
from stepscope.profiler.foundation.own_faults import ours
from stepscope.profiler.samplers import Sampler
from stepscope.profiler.samplers.loader_stages import StageTimer, TimedWorkerLoop, replace, time_fetchers
from stepscope.profiler.samplers.loader_switch import Switch
from stepscope.profiler.settings.profile_settings import Settings

if TYPE_CHECKING:
    from stepscope.profiler.recording.window import Window


class _SeenLoader:
    """A loader by its data set and its sampler, which are the same for all its epochs.

    An address alone does not tell: that of a loader which is gone may be the next one's. Nothing of the job is kept
    alive, but for what cannot be referred to weakly, such as batches given as a list.
    """

    def __init__(self, iterator: Any) -> None:
        self._dataset = id(iterator._dataset)
        sampler = iterator._index_sampler
        try:
            self._sampler: Callable[[], Any] = weakref.ref(sampler)
        except ours(TypeError):
            self._sampler = lambda: sampler

    def made(self, iterator: Any) -> bool:
        """Whether the iterator is one of this loader."""
        return self._sampler() is iterator._index_sampler and self._dataset == id(iterator._dataset)


class _Hooks:
    """What is in place in this process; several profiles share it."""

    def __init__(self) -> None:
        self.users: set[int] = set()
        self.undo: list[Callable[[], None]] = []
        self.window: Window | None = None
        self.switch: Switch | None = None
        self.loaders: list[_SeenLoader] = []
        self.batches: dict[int, int] = {}
        self.pinning = threading.local()
        self.watches_forks = False


_hooks = _Hooks()


class DataLoaderSampler(Sampler):
    """Puts the hooks in place and takes them away."""

    def arm(self) -> None:
        if not _hooks.users:
            _take_away()  # what is left of an arming that was interrupted
            _put_in_place()
        _hooks.users.add(id(self))

    def start(self, window: Window) -> None:
        _hooks.window, _hooks.loaders, _hooks.batches = window, [], {}
        if _hooks.switch is not None:
            _hooks.switch.on(window.raw)

    def stop(self, window: Window) -> None:
        del window
        _hooks.window = None
        if _hooks.switch is not None:
            _hooks.switch.off()

    def disarm(self) -> None:
        _hooks.users.discard(id(self))
        if not _hooks.users:
            _take_away()


def _take_away() -> None:
    while _hooks.undo:
        attempt("data loader", _hooks.undo[-1])
        _hooks.undo.pop()
    _hooks.switch = None


def _put_in_place() -> None:
    from torch.utils.data import _utils, dataloader

    switch = Switch()
    _hooks.undo.append(switch.close)
    timer = StageTimer(switch)
    _hooks.undo.append(timer.close)
    iterator = dataloader._BaseDataLoaderIter
    worker_loop = TimedWorkerLoop(switch, _utils.worker._worker_loop)
    pin = _timed_pin(_utils.pin_memory.pin_memory, timer)
    _hooks.undo.append(time_fetchers(timer))
    _hooks.undo.append(replace(iterator, "__next__", _timed_next(iterator.__next__)))
    _hooks.undo.append(replace(_utils.worker, "_worker_loop", worker_loop))
    _hooks.undo.append(replace(_utils.pin_memory, "pin_memory", pin))
    _hooks.switch = switch
    if not _hooks.watches_forks and hasattr(os, "register_at_fork"):
        _hooks.watches_forks = True
        os.register_at_fork(after_in_child=_in_child)


def _timed_next(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def __next__(self: Any) -> Any:  # noqa: N807
        window = _hooks.window
        if window is None:
            return original(self)
        ready, aside = _ready(self), _set_aside(self)
        start = time.time_ns()
        batch = original(self)
        end = time.time_ns()
        try:
            if ready and _set_aside(self) > aside:
                ready = 0  # what lay ready were later batches; the one whose turn it was came behind them
            _write_batch(window, self, start, end, ready)
        except ours(Exception) as error:
            report("data loader", error)
        return batch

    return __next__


def _write_batch(window: Window, iterator: Any, start: int, end: int, ready: int | None) -> None:
    newest_first = reversed(list(enumerate(_hooks.loaders)))
    loader = next((number for number, seen in newest_first if seen.made(iterator)), None)
    if loader is None:
        loader = len(_hooks.loaders)
        _hooks.loaders.append(_SeenLoader(iterator))
        window.streams.write(LOADERS_FILE, _describe(loader, iterator))
    batch = _hooks.batches[loader] = _hooks.batches.get(loader, -1) + 1
    record = {"loader": loader, "batch": batch, "start_ns": start, "end_ns": end}
    if ready is not None:
        record["queue"] = ready
    window.streams.write(BATCHES_FILE, record)


def _describe(loader: int, iterator: Any) -> dict[str, Any]:
    workers = int(iterator._num_workers)
    return {
        "loader": loader,
        "workers": workers,
        "capacity": workers * int(getattr(iterator, "_prefetch_factor", None) or 0) or None,
        "pin_memory": bool(iterator._pin_memory),
        "dataset": type(iterator._dataset).__name__,
        "kind": "iterable" if iterator._dataset_kind == 1 else "map",
    }


def _ready(iterator: Any) -> int | None:
    """Batches that lie ready: in the queues, and set aside because an earlier one is still missing."""
    try:
        results = iterator._worker_result_queue
        waiting = int(results.qsize())
        if iterator._data_queue is not results:
            waiting += int(iterator._data_queue.qsize())
        return waiting + _set_aside(iterator)
    except ours(Exception):
        return None  # no workers, or a system that cannot tell


def _set_aside(iterator: Any) -> int:
    """Batches that were taken from the queue and have to wait for an earlier one."""
    try:
        return sum(len(task) == 2 for task in iterator._task_info.values())
    except ours(Exception):
        return 0  # no workers


def _timed_pin(original: Callable[..., Any], timer: StageTimer) -> Callable[..., Any]:
    def pin_memory(*args: Any, **kwargs: Any) -> Any:
        # It calls itself for what lies inside a batch; only the outermost call is the stage.
        if timer.switch.folder() is None or getattr(_hooks.pinning, "inside", False):
            return original(*args, **kwargs)
        _hooks.pinning.inside = True
        start = time.time_ns()
        try:
            pinned = original(*args, **kwargs)
        finally:
            _hooks.pinning.inside = False
        try:
            timer.write("pin_memory", start, time.time_ns())
        except ours(Exception) as error:
            report("data loader", error)
        return pinned

    return pin_memory


def _in_child() -> None:
    """In a worker, stages are written by the switch; batches of its own loaders do not belong to the training."""
    _hooks.window = None


def make(settings: Settings) -> DataLoaderSampler:
    """The sampler of a profile."""
    return DataLoaderSampler(settings)
