"""``mstx``: marks and ranges in the user's own code, recorded while a window is open. Cheap enough to stay in."""

from __future__ import annotations

import itertools
import os
import threading
import time
from typing import Any

from stepscope.layout.names import MARKS_FILE
from stepscope.profiler.foundation.guard import report
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.own_faults import ours
from stepscope.profiler.recording.window import Window

_numbers = itertools.count(1)


class Mstx:
    """Works while a profile with ``mstx=True`` records (on the plain backend, any profile); does nothing otherwise."""

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """A moment."""
        window = Window.active
        if window is not None:
            _write(window, "mark", next(_numbers), domain, message, stream)

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        """A range begins; its id is for :meth:`range_end`, 0 if nothing was recorded."""
        window = Window.active
        number = next(_numbers)
        return number if window is not None and _write(window, "begin", number, domain, message, stream) else 0

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        """The range ends, in any thread."""
        window = Window.active
        if window is not None and isinstance(range_id, int) and range_id > 0:
            _write(window, "end", range_id, domain)


def _write(
    window: Window, event: str, number: int, domain: str, message: str | None = None, stream: Any = None
) -> bool:
    time_ns = time.time_ns()
    try:
        if not window.records_marks:
            if window.misses_marks:
                warn("marks_not_recorded")
            return False
        if not _wanted(window, domain):
            return False
        record = {"event": event, "id": number, "time_ns": time_ns, "domain": domain}
        if event != "end":
            if not isinstance(message, str) or not message:
                warn("mark_text", name="message", value=repr(message)[:100])
                return False
            if stream is not None:
                warn("mark_stream")
            record["message"] = message
        record["pid"] = os.getpid()
        record["tid"] = threading.get_native_id()
        window.streams.write(MARKS_FILE, record)
    except ours(Exception) as error:
        report("mstx", error)
        return False
    return True


def _wanted(window: Window, domain: str) -> bool:
    if not isinstance(domain, str) or not domain:
        warn("mark_text", name="domain", value=repr(domain)[:100])
        return False
    include, exclude = window.settings.mstx_domain_include, window.settings.mstx_domain_exclude
    return domain in include if include else domain not in exclude
