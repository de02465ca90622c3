"""One capture window: its directory, what is written into it, and the backend and samplers that fill it."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepscope.layout import names
from stepscope.layout.optimizer_steps import LeadingOptimizer
from stepscope.profiler import backends
from stepscope.profiler.foundation import messages
from stepscope.profiler.foundation.guard import attempt, report
from stepscope.profiler.foundation.line_files import LineStream, Streams, remove_tree, write_json
from stepscope.profiler.foundation.own_faults import ours
from stepscope.profiler.foundation.paths import make_directory
from stepscope.profiler.foundation.rank_identity import Identity, identity
from stepscope.profiler.handover.finished_window import FinishedWindow
from stepscope.profiler.recording import info_files
from stepscope.profiler.samplers import Samplers
from stepscope.profiler.settings.profile_settings import Settings
from stepscope.version import __version__

_LOW_DISK_BYTES = 256 << 20
_NO_DISK_BYTES = 4 << 20  # less than this holds no window


@dataclass
class WindowFolder:
    """Windows go below ``output``, into directories named after ``worker`` (host and process by default)."""

    output: str
    worker: str | None = None

    def worker_name(self) -> str:
        return f"{self.worker or socket.gethostname()}_{os.getpid()}"


class Window:
    """Opened when warm-up begins; :meth:`start`, :meth:`stop` and :meth:`finalize` follow, or :meth:`discard`.

    Each may be called again: a signal handler of the job's can end it anywhere.
    """

    #: The window that records in this process; there is never more than one.
    active: Window | None = None
    _one_at_a_time = threading.RLock()

    def __init__(self, settings: Settings, samplers: Samplers) -> None:
        self.settings = settings
        self.samplers = samplers
        self.identity = Identity()
        self.backend = backends.Backend(settings)
        self.pid = os.getpid()
        self.steps_done = 0
        self._lead = LeadingOptimizer()
        self.step: int | None = None
        self.state = "prepared"
        self.why_incomplete: str | None = None
        self.unrecorded_steps: dict[str, int] | None = None
        self.when_taken: Callable[[], Callable[[], None] | None] | None = None
        self._times = {"prepared_ns": time.time_ns()}
        self._clock: dict[str, int] = {}
        self._recording = False
        self._backend_works = False
        self.directory: Path | Any = None
        self.raw = Path()
        self.streams = Streams(self.raw)
        self._log: LineStream | None = None

    def open(self, folder: WindowFolder) -> None:
        """Make its directory, and have the backend prepare itself."""
        self.identity = identity()
        self.backend = backends.choose(self.settings)
        self.directory = self._make_directory(folder)
        self.raw = self.directory / names.RAW_FOLDER
        self.raw.mkdir(mode=0o750)
        self.streams = Streams(self.raw)
        self._log = self._open_log()
        self._backend_works = attempt(self.backend.name, self.backend.prepare, self)
        self._say_what_is_not_served()

    @property
    def records_marks(self) -> bool:
        return self._recording and (self.settings.mstx or self.backend.name == "plain")

    @property
    def misses_marks(self) -> bool:
        """Whether marks are made in vain: it records, but not them."""
        return self._recording and not self.records_marks

    def described(self) -> dict[str, Any]:
        """Versions and device, as the backend knows them now."""
        try:
            return self.backend.describe()
        except ours(Exception) as error:
            report(f"{self.backend.name}.describe", error)
            return {}

    def start(self) -> bool:
        """Record from now on; False if another profiler of this process does already."""
        with Window._one_at_a_time:
            other = Window.active
            if other is not None and other is not self and other.pid == os.getpid():
                messages.warn("already_recording", directory=str(other.directory))
                return False
            Window.active = self
        self._times["started_ns"] = time.time_ns()
        self._clock = clock()
        self.state = "recording"
        self._describe()
        attempt(names.info_file(self.identity.rank), info_files.write_info, self)
        attempt("samplers", self.samplers.start, self)
        self._backend("start")
        self._recording = True
        return True

    def begin_step(self, step: int) -> None:
        """A step begins; its number is the training's."""
        self.step = step
        self._write_step(step, "begin")
        self._backend("begin_step", step)

    def end_step(self) -> None:
        """The open step ends."""
        step, self.step = self.step, None
        if step is not None:
            self._backend("end_step", step)
            self._write_step(step, "end")
            self.steps_done += 1

    def cut_step(self) -> None:
        """The recording ends inside a step: it is kept, and known to be incomplete."""
        step, self.step = self.step, None
        if step is not None:
            self._backend("end_step", step)
            self._write_step(step, "cut")

    def optimizer_step(self, optimizer: int) -> None:
        """An optimizer finished a step; the reader falls back on these where nobody calls step()."""
        if self._recording and self.pid == os.getpid():  # a forked child has its own windows
            self._lead.is_step(optimizer)
            record = {"event": "optimizer", "optimizer": optimizer, "time_ns": time.time_ns()}
            self.streams.write(names.STEPS_FILE, record)

    @property
    def optimizer_steps(self) -> int:
        """Steps of the training by those of its optimizers, where nobody calls step()."""
        return self._lead.steps

    def end_now(self, why: str) -> None:
        """The backend cannot go on: whoever made the window ends it with what it has."""
        self.why_incomplete = why
        end = self.when_taken() if self.when_taken is not None else None
        if end is not None:
            end()

    def stop(self) -> None:
        """Record no more; the backend ends even if it failed before, as what it began would outlive the job."""
        self._recording = False
        self._end_backend("stop")
        attempt("samplers", self.samplers.stop, self)
        self._times["stopped_ns"] = time.time_ns()
        if Window.active is self:
            Window.active = None

    def finalize(self, metadata: dict[str, Any]) -> None:
        """Write all that is not streamed; the window is whole after this."""
        self._backend("save")
        attempt("rank", self._know_again)
        self.streams.close()
        attempt(names.METADATA_FILE, info_files.write_metadata, self, metadata)
        self.state = "complete"
        self._describe()
        self._close_log()

    def finished(self) -> FinishedWindow:
        """What is handed on when the window is whole."""
        made = FinishedWindow(self.directory, self.identity.rank, self.settings)
        made.world_size = self.identity.world_size
        made.steps = self.steps_done or self.optimizer_steps
        made.stopped_ns = self._times.get("stopped_ns", time.time_ns())
        made.seconds = (made.stopped_ns - self._times.get("started_ns", made.stopped_ns)) / 1e9
        return made

    def discard(self) -> None:
        """Remove the window: nothing worth keeping was recorded."""
        self._end_backend("discard")
        self.streams.close()
        self._close_log()
        if Window.active is self:
            Window.active = None
        if self.directory is not None:
            remove_tree(self.directory)

    def _know_again(self) -> None:
        """The job may have been joined, and groups made, since the window began."""
        later = identity()
        if later.origin == "none":
            return
        before, self.identity = self.identity, later
        if later.rank != before.rank:
            (self.directory / names.info_file(before.rank)).unlink(missing_ok=True)
            info_files.write_info(self)

    def _write_step(self, step: int, event: str) -> None:
        self.streams.write(names.STEPS_FILE, {"event": event, "step": step, "time_ns": time.time_ns()})

    def _backend(self, method: str, *args: object) -> None:
        if self._backend_works:
            self._backend_works = attempt(f"{self.backend.name}.{method}", getattr(self.backend, method), *args)

    def _end_backend(self, method: str) -> None:
        if not attempt(f"{self.backend.name}.{method}", getattr(self.backend, method)):
            self._backend_works = False

    def _make_directory(self, folder: WindowFolder) -> Path:
        output = Path(folder.output).expanduser().absolute()
        make_directory(output)
        free = shutil.disk_usage(output).free
        if free < _NO_DISK_BYTES:
            raise OSError(errno.ENOSPC, "No space left on device", str(output))
        if free < _LOW_DISK_BYTES:
            messages.warn("disk_low", path=str(output), megabytes=_LOW_DISK_BYTES >> 20)
        moment = self._times["prepared_ns"]
        while True:
            self.stamp = names.timestamp(moment)
            directory = output / names.capture_name(folder.worker_name(), self.stamp, self.backend.name)
            try:
                directory.mkdir(mode=0o750)
            except ours(FileExistsError):  # a container with the same host name and process number
                moment += 10**6
            else:
                return directory

    def _open_log(self) -> LineStream | None:
        try:
            (self.directory / names.LOG_FOLDER).mkdir(mode=0o750)
            log = LineStream(self.directory / names.LOG_FOLDER / names.log_file(self.stamp, self.pid))
        except ours(OSError) as error:
            report(names.LOG_FOLDER, error)
            return None
        messages.listen(lambda text: log.write_text(messages.stamped(text)))
        return log

    def _close_log(self) -> None:
        if self._log is not None:
            messages.listen(None)
            self._log.close()

    def _say_what_is_not_served(self) -> None:
        for switch in self.backend.unsupported():
            messages.warn(f"switch_{switch}", switch=switch, backend=self.backend.name)

    def _describe(self) -> None:
        """``stepscope.json``: written as recording begins, so that a killed job can be read, and at its end."""
        attempt(names.CAPTURE_FILE, self._write_description)

    def _write_description(self) -> None:
        described = self.described()
        content = {
            "schema": names.CAPTURE_SCHEMA,
            "stepscope_version": __version__,
            "state": self.state,
            "incomplete": self.why_incomplete,
            "backend": self.backend.name,
            "backend_failed": not self._backend_works,
            "framework": self.backend.framework,
            "versions": described.get("versions", {}),
            "device": described.get("device", {}),
            "rank": self.identity.rank,
            "world_size": self.identity.world_size,
            "local_rank": self.identity.local_rank,
            "identity_from": self.identity.origin,
            "host": self.identity.host,
            "pid": self.pid,
            "groups": self.identity.groups,
            "level": self.settings.profiler_level.value,
            "switches": self.settings.switches(),
            "clock": self._clock or clock(),
            "times": self._times,
            "unrecorded_steps": self.unrecorded_steps,
        }
        write_json(self.directory / names.CAPTURE_FILE, content)


def clock() -> dict[str, int]:
    """All clocks at one moment, so that times of one can be put on another."""
    return {
        "unix_ns": time.time_ns(),
        "monotonic_ns": time.monotonic_ns(),
        "perf_counter_ns": time.perf_counter_ns(),
    }
