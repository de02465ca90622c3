"""``DynamicProfilerMonitor``: look into a running job by editing a file, without a restart.

The steps are those of the training, counted from 1, in a loop and in a callback alike: "2 to 5" records the second to
the fifth training step, on all ranks of a host.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

from stepscope.layout.names import dynamic_name
from stepscope.profiler.dynamic.agreement import AgreedWindow, Agreement, settle
from stepscope.profiler.dynamic.board import Board, board_for
from stepscope.profiler.dynamic.config import ConfigFile, understood
from stepscope.profiler.dynamic.job import job_of
from stepscope.profiler.dynamic.network_files import is_remote
from stepscope.profiler.dynamic.status import STATES, StatusFile
from stepscope.profiler.foundation.flag import Flag
from stepscope.profiler.foundation.framework_base import with_mindspore_base
from stepscope.profiler.foundation.guard import attempt, guarded
from stepscope.profiler.foundation.line_files import absolute
from stepscope.profiler.foundation.messages import read_sentences, warn
from stepscope.profiler.foundation.own_faults import ours, suppressed
from stepscope.profiler.foundation.rank_identity import identity
from stepscope.profiler.handover import parsers
from stepscope.profiler.handover.finished_window import FinishedWindow
from stepscope.profiler.handover.trace_handler import TraceHandler
from stepscope.profiler.recording.profile import Profile
from stepscope.profiler.samplers.mindspore_engine import expect_pipeline
from stepscope.profiler.settings.profile_settings import checked, usable_path
from stepscope.profiler.settings.schedule import ProfilerAction, Schedule

_DEFAULT_OUTPUT = "./dyn_profile_data"
_DEFAULT_POLL_S = 2
#: A file system that answers slower, several times in a row, is only asked by the thread beside the training.
_QUICK_NS, _MOST_SLOW_LOOKS = 200_000, 5
_PATIENCE_S, _PATIENCE_AT_BEGIN_S, _PATIENCE_AT_END_S = 0.005, 2.0, 5.0


class DynamicProfilerMonitor:
    """Watches ``profiler_config.json`` in ``cfg_path``; call :meth:`step` after each training step, or use it as a
    callback of MindSpore's ``Model.train``."""

    def __new__(cls, *args: Any, **kwargs: Any) -> DynamicProfilerMonitor:
        del args, kwargs
        return object.__new__(with_mindspore_base(cls))

    @guarded
    def __init__(
        self,
        cfg_path: Any = None,
        output_path: Any = _DEFAULT_OUTPUT,
        poll_interval: int = _DEFAULT_POLL_S,
        **further: Any,
    ) -> None:
        read_sentences()
        self.windows: list[FinishedWindow] = []
        self._board: Board | None = None
        self._profile: Profile | None = None
        self._current: AgreedWindow | None = None
        self._left: Path | None = None
        self._windows: list[AgreedWindow] = []
        self._done = 0
        self._step = 0
        self._stride = 1
        self._looking = threading.Lock()
        self._thread: threading.Thread | None = None
        self._end = Flag()
        self._status: StatusFile | None = None
        self._slow_looks = 0
        self._only_beside = False
        self._looked = Flag()
        for name in further:
            warn("parameter_unknown", name=name)
        if os.environ.get("MSMONITOR_USE_DAEMON") == "1":
            warn("dynamic_daemon")
        if not isinstance(cfg_path, (str, os.PathLike)):
            warn("dynamic_no_path", value=repr(cfg_path)[:100])
            return
        self._output = str(absolute(usable_path("output_path", output_path, _DEFAULT_OUTPUT)))
        self._poll_s = _poll(poll_interval)
        self._folder = absolute(usable_path("cfg_path", cfg_path, "."))
        self._begin()

    def step(self) -> None:
        """A training step has ended."""
        self._arrive(self._step + 1)

    def begin_step(self, number: int) -> None:
        """A step of this number begins; for trainers that count themselves."""
        if number != self._step:
            self._arrive(number)

    def end_step(self, number: int) -> None:
        """It ended, and the next one begins with waiting for its data."""
        self._stride = max(1, number + 1 - self._step)  # in sink mode one call stands for many steps
        self._arrive(number + 1)

    def step_begin(self, run_context: Any) -> None:
        """A step of ``Model.train`` begins."""
        number = _number(run_context)
        if number is not None:
            self.begin_step(number)

    def step_end(self, run_context: Any) -> None:
        """It ended."""
        number = _number(run_context)
        if number is not None:
            self.end_step(number)

    def on_train_step_begin(self, run_context: Any) -> None:
        """See :meth:`step_begin`."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: Any) -> None:
        """See :meth:`step_end`."""
        self.step_end(run_context)

    def on_train_end(self, run_context: Any) -> None:
        """The training is over: an open window is closed, and nobody watches any more."""
        del run_context
        self.stop()

    @guarded
    def start(self) -> None:
        """For scripts that call it; the monitor watches from the moment it is made."""

    @guarded
    def stop(self, keep: bool = False) -> None:
        """End an open window and the watching; ``keep`` where the script failed inside its first step."""
        profile, self._profile = self._profile, None
        if profile is not None and profile.running:
            profile._stepped = True  # by us, before it was made
            profile.stop(keep=keep)
            self.windows += profile.windows
        self._leave()

    def _begin(self) -> None:
        who = identity()
        try:
            self._board = board_for(job_of(who, self._folder), who.rank)
        except ours(OSError) as error:
            warn("dynamic_alone", reason=str(error))
            self._board = board_for(None, who.rank)
        self._config = ConfigFile(self._folder)
        expect_pipeline()
        _monitors.add(self)
        atexit.register(_at_exit, weakref.ref(self), os.getpid())
        self._only_beside = is_remote(self._folder)
        if self._only_beside:
            attempt("dynamic profiling", self._watch_beside)
            self._looked.wait(_PATIENCE_AT_BEGIN_S)
        elif self._board.lead():
            attempt("profiler_config.json", self._config.create)
        self._arrive(1)
        if not self._only_beside:
            attempt("dynamic profiling", self._watch_beside)

    def _watch_beside(self) -> None:
        thread = threading.Thread(target=_watch, args=(weakref.ref(self), self._end, self._poll_s), daemon=True)
        thread.name = "stepscope-dynamic"
        thread.start()
        self._thread = thread

    @guarded
    def _arrive(self, upcoming: int) -> None:
        """Between two steps: the one before ``upcoming`` has ended."""
        board = self._board
        if board is None:
            return
        self._step = upcoming
        news = board.advance(upcoming)
        if board.leads and not self._only_beside and self._slow_looks < _MOST_SLOW_LOOKS:
            news = self._look(board, upcoming, _PATIENCE_S) or news
        if news and (content := board.news()) is not None:
            self._windows = Agreement.of(content).windows if content else []
        if self._profile is not None:
            self._go_on(upcoming)
        if self._profile is None and self._windows:
            self._maybe_record(upcoming)

    def _go_on(self, upcoming: int) -> None:
        profile, window = self._profile, self._current
        assert profile is not None and window is not None
        agreed = next((one for one in self._windows if one.number == window.number), None)
        if agreed is None and upcoming <= window.stop:
            profile._stepped = True
            self._drop(profile)  # a rank had passed its start: agreed anew
            return
        if agreed is not None and agreed.stop < window.stop:
            self._current = window = self._ends_early(profile, window, agreed, upcoming)
        if upcoming > window.stop and self._board is not None:
            self._board.say_state(STATES.index("parsing" if window.analyse else "idle"))
        profile.step_num = upcoming - 1
        profile.step()
        if upcoming > window.stop:
            self._profile = None
            profile.stop()
            self.windows += profile.windows
            if self._left is not None:
                with suppressed(OSError):
                    self._left.rmdir()  # its window lies in the folder of the steps that it has
                self._left = None
            if self._board is not None:
                self._board.say_state(STATES.index("parsing" if parsers.are_at_work() else "idle"))

    def _ends_early(self, profile: Profile, window: AgreedWindow, agreed: AgreedWindow, upcoming: int) -> AgreedWindow:
        """The config was changed inside the window: it ends with the step before ``upcoming``, or as agreed."""
        handler, plan = profile.settings.on_trace_ready, profile.settings.schedule
        assert isinstance(handler, TraceHandler) and isinstance(plan, _Window)
        stop = max(agreed.stop, upcoming - 1)
        self._left = Path(handler.dir_name)
        handler.dir_name = str(Path(handler.dir_name).with_name(dynamic_name(identity().rank, plan.skip_first, stop)))
        plan.stop = stop
        if upcoming > stop:
            profile.end_window("asked")
        return replace(agreed, stop=stop) if stop < window.stop else window

    def _maybe_record(self, upcoming: int) -> None:
        for window in self._windows:
            if window.number > self._done and window.start <= upcoming <= window.stop:
                self._done = window.number
                self._record(window, upcoming)
                return

    def _record(self, window: AgreedWindow, start: int) -> None:
        folder = Path(window.output or self._output) / dynamic_name(identity().rank, start, window.stop)
        settings = checked(**{**window.parameters, "start_profile": False})
        settings.on_trace_ready = TraceHandler(str(folder), None, window.analyse, window.in_background)
        settings.schedule = _Window(start, window.stop, self)
        profile = Profile.of(settings)
        profile.step_num = start
        self._profile, self._current = profile, window
        if self._board is not None:
            self._board.say_state(STATES.index("recording"))
        profile.start()
        atexit.register(_at_exit, weakref.ref(self), os.getpid())  # before that of the profile

    def _drop(self, profile: Profile) -> None:
        self._profile = None
        profile.stop()

    def _look(self, board: Board, upcoming: int | None, patience_s: float = -1) -> bool:
        """As the leader, read the config if it changed; whether that was so. One thread at a time."""
        if not self._looking.acquire(timeout=patience_s):
            self._slow_looks += 1
            return False
        try:
            began = time.perf_counter_ns()
            changed = self._config.changed()
            self._slow_looks = 0 if time.perf_counter_ns() - began < _QUICK_NS else self._slow_looks + 1
            content = self._config.read() if changed else None
            if content is not None:
                settle(board, understood(content), upcoming)
            return content is not None
        finally:
            self._looking.release()

    @guarded
    def _poll(self) -> None:
        """What the thread beside the training does now and then."""
        board = self._board
        if board is not None and self._profile is None:
            # Parsers beside the training are asked for, so that their end is told and known.
            board.say_state(STATES.index("parsing" if parsers.are_at_work() else "idle"))
        if board is None or not board.lead():
            self._looked.set()
            return
        if self._only_beside and not self._looked.is_set():
            attempt("profiler_config.json", self._config.create)
        self._look(board, None)
        self._looked.set()
        if self._status is None:
            self._status = StatusFile(self._folder, self._output)
        self._status.write(board, Agreement.read(board))

    def _leave(self) -> None:
        self._end.set()
        board, self._board = self._board, None
        if board is None:
            return
        if self._thread is not None:
            self._thread.join(_PATIENCE_AT_END_S)
            if self._thread.is_alive():
                return  # the config's file system hangs; the board goes with the process
        if self._status is not None:
            self._status.write(board, Agreement.read(board), ended=True)
        board.close()

    def _in_child(self) -> None:
        """A forked child (a worker of a data loader) is not the training."""
        board, self._board = self._board, None
        self._profile = None
        if board is not None:
            board.close(forked=True)


class _Window(Schedule):
    """Records from ``start`` to ``stop``; the last call that falls into it ends it."""

    def __init__(self, start: int, stop: int, monitor: DynamicProfilerMonitor) -> None:
        super().__init__(wait=0, warmup=0, active=stop - start + 1, repeat=1, skip_first=start)
        self.stop = stop
        self._monitor = weakref.ref(monitor)

    def __call__(self, step: int) -> ProfilerAction:
        monitor = self._monitor()
        if step > self.stop or monitor is None:
            return ProfilerAction.NONE
        return ProfilerAction.RECORD if step + monitor._stride <= self.stop else ProfilerAction.RECORD_AND_SAVE


_monitors: weakref.WeakSet[DynamicProfilerMonitor] = weakref.WeakSet()


def _watch(reference: weakref.ref[DynamicProfilerMonitor], end: Flag, poll_s: int) -> None:
    """The thread: it holds no monitor, so that one which nobody uses any more goes."""
    while True:
        monitor = reference()
        if monitor is None:
            return
        monitor._poll()
        del monitor
        if end.wait(poll_s):
            return


def _at_exit(reference: weakref.ref[DynamicProfilerMonitor], pid: int) -> None:
    monitor = reference()
    if monitor is not None and os.getpid() == pid:
        monitor.stop(keep=hasattr(sys, "last_value"))


def _after_fork() -> None:
    for monitor in list(_monitors):
        attempt("fork", monitor._in_child)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _poll(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    warn("dynamic_poll", value=repr(value)[:100], fallback=_DEFAULT_POLL_S)
    return _DEFAULT_POLL_S


def _number(run_context: Any) -> int | None:
    try:
        return int(run_context.original_args().cur_step_num)
    except ours(Exception):
        warn("dynamic_no_number")
        return None
