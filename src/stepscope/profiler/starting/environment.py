"""Profiling that is switched on from outside: by ``MS_PROFILER_OPTIONS``, or by ``stepscope profile -- CMD``.

What ``MS_PROFILER_OPTIONS`` asks for is recorded as documented, from the import of the framework to the end of the
process; the launcher records a window with an end (``bounded_run.py``) unless it is told otherwise. MindSpore starts
its own profiler for ``MS_PROFILER_OPTIONS`` as it is imported; whoever imports us before it gets ours and not both.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.profiler.foundation.guard import guarded
from stepscope.profiler.foundation.messages import tell, warn
from stepscope.profiler.foundation.own_faults import ours
from stepscope.profiler.starting.made_captures import is_any_made_since

if TYPE_CHECKING:
    from stepscope.profiler.recording.profile import Profile

MINDSPORE_OPTIONS = "MS_PROFILER_OPTIONS"
LAUNCHER_OPTIONS = "STEPSCOPE_PROFILE"

#: Ours or the documents', and no parameters of a profile.
_NOT_PARAMETERS = (
    "start",
    "launcher",
    "parser",
    "all",
    "limits",
    "schedule",
    "on_trace_ready",
    "analyse",
    "experimental_config",
)
#: Processes below a launcher that do no training themselves.
_LAUNCHERS = {
    "torchrun",
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.elastic",
    "accelerate",
    "accelerate.commands.launch",
    "deepspeed",
    "deepspeed.launcher.launch",
    "deepspeed.launcher.runner",
    "msrun",
    "pip",
    "stepscope",
}
#: Helpers of Python's multiprocessing, spawned data loader workers among them.
_SPAWNED = "--multiprocessing-fork"
_HELPERS = ("multiprocessing.spawn", "multiprocessing.forkserver", "multiprocessing.resource_tracker")


class _Running:
    """The profile of this process, so that nobody starts a second one, and the options that were taken over for it."""

    profile: Any = None
    inherited: Any = None
    taken: dict[str, Any] | None = None


class EnvProfiler:
    """Profiling by ``MS_PROFILER_OPTIONS``; importing ``stepscope.profiler`` does this where the variable is set."""

    @classmethod
    @guarded
    def init_profiler(cls) -> None:
        """Start now, whatever framework is there or none."""
        options = _take_over()
        if options is not None:
            begin({"analyse": True, "all": True, **options})
        elif (options := _options(LAUNCHER_OPTIONS)) is not None:
            begin({"analyse": True, **options})
        elif not os.environ.get(MINDSPORE_OPTIONS):
            warn("environment_off", variable=MINDSPORE_OPTIONS)

    @guarded
    def analyse(self) -> None:
        """End the recording and write the documented files."""
        profile, _Running.profile = _Running.profile, None
        if profile is not None and profile.running:
            profile.stop()


@guarded
def imported() -> None:
    """Called as ``stepscope.profiler`` is imported where ``MS_PROFILER_OPTIONS`` is set."""
    options = _take_over() if trains() else None
    if options is not None:
        _when_imported(begin, {"analyse": True, "all": True, **options})


@guarded
def launched() -> None:
    """Called first in every Python process below ``stepscope profile -- CMD``."""
    options = _options(LAUNCHER_OPTIONS)
    if options is None:
        return
    options = {"analyse": True, **options}
    by_hand = "launcher" not in options  # the launcher has said what is recorded
    _use_parser(options.get("parser"))
    if options.pop("launcher", None) == os.getpid():  # it became the command itself
        atexit.register(_say_if_nothing, options.get("output_path"), os.getpid(), time.time())
    if trains():
        _when_imported(lambda given: begin(given, announced=by_hand), options)
    elif _SPAWNED in _command_line():
        _when_imported(_begin_if_it_trains, options)
    else:
        return
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _forked(options))


def begin(options: dict[str, Any], steps_done: int = 0, announced: bool = False) -> None:
    """Record from now on; the end of the process ends it. ``announced`` says before what will be recorded."""
    from stepscope.profiler.handover.trace_handler import TraceHandler
    from stepscope.profiler.recording.profile import Profile
    from stepscope.profiler.settings.profile_settings import checked
    from stepscope.profiler.starting import bounded_run

    if _Running.profile is not None:
        return
    given = {name: value for name, value in options.items() if name not in _NOT_PARAMETERS}
    settings = checked(**{**given, "start_profile": False})
    settings.on_trace_ready = TraceHandler(settings.output_path, None, bool(options.get("analyse")), False)
    plan = bounded_run.plan_of(options, steps_done)
    settings.schedule = plan.schedule
    profile = _Running.profile = Profile.of(settings)
    profile.step_num = steps_done
    profile.limits = plan.limits
    if announced:
        bounded_run.announce(plan, settings.output_path)
    profile.start()
    if plan.schedule is not None:
        profile.follow_optimizer()  # nobody calls step()
        atexit.register(_leave_if_idle, profile, steps_done, os.getpid())
    if plan.waits_for_steps:
        bounded_run.record_time_without_steps(profile)


@guarded
def _leave_if_idle(profile: Profile, steps_done: int, pid: int) -> None:
    """A process that trained nothing (it started those that did) leaves no window of its own."""
    if os.getpid() == pid and profile.running and profile.step_num == steps_done:
        profile.abandon()
        _Running.profile = None


@guarded
def _say_if_nothing(output: str | None, pid: int, since: float) -> None:
    """The command is over and no process of it left a capture: that must not pass for success."""
    if os.getpid() != pid or _Running.profile is not None:
        return  # a profile says itself what became of it
    if not is_any_made_since(since, Path(output or ".")):
        tell("interrupted_before" if hasattr(sys, "last_value") else "nothing_recorded")


@guarded
def _forked(options: dict[str, Any]) -> None:
    """A forked process, like a spawned one, may be a rank or a worker of a data loader."""
    from stepscope.profiler.backends import FRAMEWORKS
    from stepscope.profiler.recording import running_profiles

    running_profiles.forked()
    _Running.inherited, _Running.profile = _Running.profile, None  # kept: to take it apart is not for this process
    if any(name in sys.modules for name in FRAMEWORKS.values()):
        _begin_if_it_trains(options)


def _begin_if_it_trains(options: dict[str, Any]) -> None:
    """A process that was started by another may be a rank or a helper of one; only a rank makes optimizer steps.

    The first step is over when it is known; a schedule that would begin with it begins with the next one.
    """
    from stepscope.profiler import backends
    from stepscope.profiler.settings.profile_settings import Settings

    def on_step(optimizer: int) -> None:
        del optimizer
        end()
        guarded(begin)(options, steps_done=1)

    end = backends.choose(Settings()).watch_optimizer(on_step)


def _use_parser(given: Any) -> None:
    if isinstance(given, dict) and isinstance(given.get("python"), str):
        from stepscope.profiler.handover.parsing import parse_with

        parse_with(given["python"], str(given.get("path", "")))


def trains() -> bool:
    """Whether this process may be a training script: no launcher, no helper of multiprocessing, none of our own.

    >>> trains()
    True
    """
    words = _command_line()
    if any(helper in word for word in words for helper in _HELPERS) or _SPAWNED in words:
        return False
    program = _program(words)
    return program not in _LAUNCHERS and not program.startswith("torch._")  # its compile workers


def _program(words: list[str]) -> str:
    """The module or script that Python runs, without its path; empty where it is neither.

    >>> _program(["python", "-u", "-m", "torch.distributed.run", "x.py"]), _program(["python3", "/opt/bin/torchrun"])
    ('torch.distributed.run', 'torchrun')
    """
    rest = iter(words[1:])
    for word in rest:
        if word == "-m":
            return next(rest, "")
        if word in ("-W", "-X"):
            next(rest, "")
        elif not word.startswith("-"):
            return Path(word).name
        elif word == "-c":
            return ""
    return ""


def _command_line() -> list[str]:
    known = getattr(sys, "orig_argv", None)  # Python 3.10
    if known:
        return list(known)
    try:
        return Path("/proc/self/cmdline").read_bytes().decode("utf-8", "replace").rstrip("\0").split("\0")
    except ours(OSError):
        return [sys.executable, *getattr(sys, "argv", [])]


def _when_imported(action: Callable[[dict[str, Any]], None], options: dict[str, Any]) -> None:
    from stepscope.profiler.backends import FRAMEWORKS
    from stepscope.profiler.starting.after_import import after_import

    after_import(tuple(FRAMEWORKS.values()), lambda: guarded(action)(options))


def _options(variable: str) -> dict[str, Any] | None:
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        options = json.loads(text)
    except ours(ValueError) as error:
        warn("environment_not_json", variable=variable, reason=str(error))
        return None
    if not isinstance(options, dict):
        warn("environment_not_json", variable=variable, reason="not an object")
        return None
    return options


def _take_over() -> dict[str, Any] | None:
    """The options, unless they say not to start. MindSpore must not see them; if it did already, it gives way."""
    options = _options(MINDSPORE_OPTIONS)
    if options is None or options.get("start") is not True:
        return _Running.taken
    _Running.taken = options
    os.environ.pop(MINDSPORE_OPTIONS, None)
    module: Any = sys.modules.get("mindspore.profiler.envprofiler")
    theirs = getattr(getattr(module, "EnvProfiler", None), "profiler", None)
    if theirs is not None:
        warn("environment_taken_over", variable=MINDSPORE_OPTIONS)
        theirs.action_controller.on_trace_ready = None
        theirs.stop()
        module.EnvProfiler.profiler = None
    return options
