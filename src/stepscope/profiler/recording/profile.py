"""The profile: records a training loop step by step, in windows, and never disturbs it."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from stepscope.layout.optimizer_steps import LeadingOptimizer
from stepscope.profiler import backends
from stepscope.profiler.foundation.guard import attempt, guarded
from stepscope.profiler.foundation.line_files import absolute
from stepscope.profiler.foundation.messages import read_sentences, tell, warn
from stepscope.profiler.handover.announcement import announce
from stepscope.profiler.handover.finished_window import FinishedWindow
from stepscope.profiler.recording import running_profiles, termination
from stepscope.profiler.recording.limits import Limits, LimitWatch
from stepscope.profiler.recording.metadata import Metadata
from stepscope.profiler.recording.own_time import OwnTime
from stepscope.profiler.recording.transitions import ACTIONS, EXIT
from stepscope.profiler.recording.unrecorded_steps import UnrecordedSteps
from stepscope.profiler.recording.window import Window, WindowFolder
from stepscope.profiler.samplers import Samplers
from stepscope.profiler.settings.profile_settings import Settings, checked
from stepscope.profiler.settings.schedule import ProfilerAction, Schedule, record_all, understood


class Profile:
    """Records a training loop; a context manager, or start(), step() after each training step, stop().

    The parameters are those of ``mindspore.profiler.profile``. Bad values are replaced, with a warning; nothing raises.
    """

    def __init__(
        self,
        activities: Any = None,
        with_stack: bool = False,
        profile_memory: bool = False,
        data_process: bool = False,
        parallel_strategy: bool = False,
        start_profile: bool = True,
        hbm_ddr: bool = False,
        pcie: bool = False,
        sync_enable: bool = True,
        record_shapes: bool = False,
        schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        experimental_config: Any = None,
        **further: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "further", "__class__")}
        self._set_up(checked(**given, **further))

    @classmethod
    def of(cls, settings: Settings) -> Profile:
        """A profile from settings that were checked already."""
        made = cls.__new__(cls)
        made._set_up(settings)
        return made

    def _set_up(self, settings: Settings) -> None:
        read_sentences()
        self.settings = settings
        self._output = str(absolute(settings.output_path))
        self.step_num = 0
        self.limits: Limits | None = None
        self.windows: list[FinishedWindow] = []
        self._plan = understood(settings.schedule or record_all)
        self._has_plan = settings.schedule is not None
        self._state = ProfilerAction.NONE
        self._running = False
        self._stepped = False
        self._keep = False
        self._failed = False
        self._came_to_window = False
        self._ends_by: str | None = None
        self.own_time = OwnTime()
        self._thread = 0  # the one that opened the window
        self._limit_watch: LimitWatch | None = None
        self._window: Window | None = None
        self._due: list[Callable[[], None]] = []
        self._metadata = Metadata()
        self._samplers = Samplers(settings)
        self._lead = LeadingOptimizer()
        self._unrecorded = UnrecordedSteps()
        self._end_watch: Callable[[], None] | None = None
        self._end_following: Callable[[], None] | None = None
        if settings.start_profile:
            self.start()

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped yet."""
        return self._running

    @guarded
    def start(self) -> None:
        """Begin with the schedule; the step counter goes on where it stood."""
        if self._running:
            warn("already_started")
            return
        with self.own_time:
            self._running = True
            self._ends_by = None
            running_profiles.enter(self)
            self._samplers.arm()
            self._move(self._plan(self.step_num))
            self._begin_step()
            self._unrecorded.begins()

    @guarded
    def step(self) -> None:
        """A training step has ended, the next one begins."""
        if not self._running:
            warn("not_started", method="step")
            return
        with self.own_time:
            self._unrecorded.ends(counts=self._state is ProfilerAction.NONE)
            self._stepped = True
            if self._window is not None:
                attempt("step", self._window.end_step)
            self.step_num += 1
            self._move(self._wanted())
            self._begin_step()
            self._unrecorded.begins()

    @guarded
    def stop(self, keep: bool = False) -> None:
        """End the recording; what an open window has recorded is kept.

        A window that the last step() of the training opened is empty and goes, unless ``keep`` says that the script
        failed inside it.
        """
        if not self._running:
            warn("not_started", method="stop")
            return
        with self.own_time:
            self._keep = keep
            self._failed = keep and (_is_failure(sys.exc_info()[1]) or hasattr(sys, "last_value"))
            try:
                self._end()
            except BaseException:  # of a signal handler of the job's: it goes on when all is in order
                self._end()
                raise

    def end_window(self, why: str) -> None:
        """End the open window with the step that is under way, and open no other."""
        self._ends_by = why

    @guarded
    def cut(self, why: str) -> None:
        """End the recording inside its step; what the window has is kept."""
        if self._running:
            self._ends_by = why
            self.stop(keep=True)

    @property
    def records_here(self) -> bool:
        """Whether this thread opened the window; frameworks record the thread that does."""
        return self._thread == threading.get_ident()

    @guarded
    def abandon(self) -> None:
        """Stop without a window and without a word: this process has nothing to record."""
        self._stop_window()
        self._drop()
        self._came_to_window = True
        if self._running:
            self.stop()

    @guarded
    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into ``profiler_metadata.json`` of every window."""
        self._metadata.add_text(key, value)

    @guarded
    def add_metadata_json(self, key: str, value: str) -> None:
        """Put an object, given as JSON text, into ``profiler_metadata.json`` of every window."""
        self._metadata.add_json(key, value)

    @guarded
    def follow_optimizer(self) -> None:
        """Call step() after each step of the optimizer that leads, where the script itself does not."""
        if self._end_following is None:
            self._end_following = backends.choose(self.settings).watch_optimizer(self._on_optimizer)

    @property
    def follows_optimizer(self) -> bool:
        """Whether nobody calls step(), and it is recorded from outside."""
        return self._end_following is not None

    def __enter__(self) -> Profile:
        if not self._running:
            self.start()
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if self._running:
            self.stop(keep=kind is not None)

    def __del__(self) -> None:
        if getattr(self, "_running", False) and not sys.is_finalizing():
            warn("stopped_by_collector")
            self.stop()

    def _end(self) -> None:
        if self._window is not None:
            attempt("step", self._window.cut_step)
        self._move(EXIT)
        self._stepped = False
        attempt("samplers", self._samplers.disarm)
        attempt("backend", backends.settle)
        if self._end_following is not None:
            attempt("optimizer", self._end_following)
            self._end_following = None
        running_profiles.leave(self)
        self._running = False

    def _move(self, new: ProfilerAction | None) -> None:
        self._due += [getattr(self, f"_{action}") for action in ACTIONS[self._state, new]]
        self._state = ProfilerAction.NONE if new is EXIT else new
        self._do_what_is_due()

    def _do_what_is_due(self) -> None:
        """One after the other, each to its end: a fault in one is no reason to leave out the next, and what a signal
        handler of the job's interrupted is done again with the next call."""
        while self._due:
            action = self._due[0]
            attempt(action.__name__.strip("_"), action)
            if self._due and self._due[0] is action:  # else such a handler has called us, and it is done
                self._due.pop(0)

    def _begin_step(self) -> None:
        if self._window is not None and self._state in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            attempt("step", self._window.begin_step, self.step_num)

    def _wanted(self) -> ProfilerAction:
        """What the plan says, unless the window has to end here."""
        if self._ends_by is None and self._limit_watch is not None:
            self._ends_by = self._limit_watch.reached()
        if self._ends_by is None:
            return self._plan(self.step_num)
        if self._state is ProfilerAction.RECORD:
            self._state = ProfilerAction.RECORD_AND_SAVE
            self._say_why_it_ends()
        return ProfilerAction.NONE

    def _on_optimizer(self, optimizer: int) -> None:
        if self._running and self._lead.is_step(optimizer):
            self.step()
            if self._is_over:
                self.stop()  # nobody else will, and the training goes on alone

    @property
    def _is_over(self) -> bool:
        """Whether no window follows."""
        plan = self.settings.schedule
        ends = isinstance(plan, Schedule) and plan.last is not None and self.step_num > plan.last
        return self._running and self._window is None and (ends or self._ends_by is not None)

    def _prepare(self) -> None:
        if self._window is not None:  # of a call that was interrupted
            self._drop()
        self._came_to_window = True
        if Window.active is not None:
            warn("already_recording", directory=str(Window.active.directory))
            return
        attempt("capture directory", self._make_window)

    def _make_window(self) -> None:
        handler = self.settings.on_trace_ready
        folder = WindowFolder(getattr(handler, "dir_name", None) or self._output)
        folder.worker = getattr(handler, "worker_name", None)
        window = self._window = Window(self.settings, self._samplers)
        window.when_taken = weakref.WeakMethod(self._end_window)
        try:
            window.open(folder)
        except BaseException:
            self._drop()
            raise

    def _start_window(self) -> None:
        if self._window is not None:
            self._window.unrecorded_steps = self._unrecorded.told
        if self._window is not None and not self._window.start():
            self._drop()
        if self._window is None:
            return
        self._thread = threading.get_ident()
        attempt("SIGTERM", termination.guard_window, self)
        if self.limits is not None:
            attempt("limits", self._watch_limits, self.limits, self._window)
        if not self._has_plan or self._never_stepped:  # where nobody will call step(), the optimizer tells the steps
            attempt("optimizer", self._watch_optimizer, self._window)

    def _watch_limits(self, limits: Limits, window: Window) -> None:
        self._limit_watch = LimitWatch(limits, window.raw, lambda why: self.own_time.when_free(lambda: self.cut(why)))

    def _watch_optimizer(self, window: Window) -> None:
        self._end_watch = window.backend.watch_optimizer(window.optimizer_step)

    def _stop_window(self) -> None:
        if self._end_watch is not None:
            attempt("optimizer", self._end_watch)
            self._end_watch = None
        if self._limit_watch is not None:
            self._limit_watch.end()
            self._limit_watch = None
        if self._window is not None:
            self._window.stop()

    def _finalize(self) -> None:
        window = self._window
        if window is not None:
            window.finalize(self._metadata.values)
            self._window, self.windows = None, [*self.windows, window.finished()]
            termination.release_window(self)

    def _announce(self) -> None:
        """The last line of a recording: where it is, how long it took, what to do next."""
        if self.windows and not self.windows[-1].announced:
            self.windows[-1].announced = True
            attempt("announcement", announce, self.windows[-1])

    def _hand_over(self) -> None:
        """The user's callback; a window that was dropped is not handed over."""
        if self.settings.on_trace_ready is not None and self.windows and not self.windows[-1].handed_over:
            self.windows[-1].handed_over = True
            attempt("on_trace_ready", self.settings.on_trace_ready, self.windows[-1])

    @guarded
    def _end_window(self) -> None:
        """The backend had to end the window; it is handed over when the schedule says so."""
        if self._window is not None:
            self._window.cut_step()
            self._stop_window()
            self._finalize()

    def _drop(self) -> None:
        if self._window is not None:
            self._window.discard()
            self._window = None
            termination.release_window(self)

    def _end_early(self) -> None:
        """The profile ends inside a window: keep it if it has anything, and say what is missing."""
        window = self._window
        if window is None or not self._has_plan:
            return
        if self._stepped and not window.steps_done and not self._keep:
            self._stop_window()  # opened by the last step() of the training; nothing happened in it
            self._drop()
            if not self.windows:
                warn("ended_before")
            return
        if self._ends_by is not None:
            self._say_why_it_ends()
            return
        wanted = self.settings.schedule.active if isinstance(self.settings.schedule, Schedule) else None
        window.why_incomplete = "stopped_early"
        if self._failed:
            warn("interrupted", done=window.steps_done)
            return
        if self._never_stepped:
            warn("never_stepped_inside")
            return
        if wanted is None:
            warn("stopped_early_own_schedule", done=window.steps_done)
        else:
            warn("stopped_early", done=window.steps_done, wanted=wanted)

    @property
    def _never_stepped(self) -> bool:
        """Whether the schedule could not go on: it counts calls of step(), and there was none."""
        return not self._stepped and self.step_num == 0

    def _say_why_it_ends(self) -> None:
        if self._window is not None and self._ends_by is not None:
            self._window.why_incomplete = self._ends_by
            tell(f"ended_by_{self._ends_by}", done=self._window.steps_done)

    def _warn_cut_short(self) -> None:
        if self._window is not None:
            self._window.why_incomplete = "schedule_cut"
        warn("schedule_cut")

    def _warn_nothing_recorded(self) -> None:
        if self._window is not None and not self.windows:  # an endless schedule ends somewhere
            warn("never_stepped" if self._never_stepped else "warm_up_only")

    def _warn_never_began(self) -> None:
        if self._came_to_window or not isinstance(self.settings.schedule, Schedule):
            return
        if self._failed:
            warn("interrupted_before")
        else:
            warn("never_stepped" if self._never_stepped else "ended_before")


def _is_failure(error: BaseException | None) -> bool:
    """Whether an exception means that something went wrong: a loop over a generator that is left early, and an exit
    without a code, end a training as well.

    >>> _is_failure(KeyboardInterrupt()), _is_failure(GeneratorExit()), _is_failure(SystemExit(0)), _is_failure(None)
    (True, False, False, False)
    """
    if isinstance(error, SystemExit):
        return error.code not in (None, 0)
    return error is not None and not isinstance(error, GeneratorExit)
