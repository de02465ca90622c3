"""When a capture was recorded and by which process, by a look at the beginning and the end of its events.

Names and times of files tell what somebody did with them; only the content tells when it was recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

from stepscope.arrays import NULL
from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.exact_time import nanoseconds
from stepscope.readers.files.raw_bytes import head, tail

_JSON: Final = re.compile(r"\.json(?:\.gz)?$", re.IGNORECASE)
_EVENTS: Final = re.compile(r'"traceEvents"\s*:\s*\[|^\s*\[')
_BETWEEN: Final = re.compile(r"[\s,]*")
_BASE: Final = re.compile(r'"baseTimeNanoseconds"\s*:\s*(\d{1,19})')
_HOST: Final = re.compile(r'"host_name"\s*:\s*"([^"]{1,255})"')
_TIMED: Final = re.compile(r'"ts"\s*:\s*"?([\d.]{1,40})"?\s*,\s*"dur"\s*:\s*"?([\d.]{1,40})')
_HOST_CATEGORIES: Final = ("cpu_op", "operator", "user_annotation", "cuda_runtime", "runtime", "python_function")
_LASTING: Final = ("X", "B")
_CATEGORY: Final = re.compile(r'"cat"\s*:\s*"([^"]{0,80})"')
_MARKS: Final = frozenset(("user_annotation", "trace"))  # of the PyTorch profiler, in lower case
_LOOK_BYTES: Final = 1 << 20
_LEAST_EPOCH_NS: Final = 10**17  # 1973; smaller times count from the start of a machine or a process


class Held(IntEnum):
    """What a trace holds at most."""

    NOTHING = 0
    MARKS = 1  # of a loop that had come to its end
    WORK = 2


@dataclass(frozen=True)
class Recorded:
    """Moments are nanoseconds since 1970, None where the content does not tell them."""

    began_ns: int | None = None
    ended_ns: int | None = None
    process: int | None = None
    host: str | None = None
    held: Held = Held.WORK


def recorded_when(source: Source) -> Recorded:
    """What a look at the trace of a source tells; nothing where it has none or cannot be read."""
    for file in dict.fromkeys((source.path, *source.files)):
        if not (file.is_file() and _JSON.search(file.name)):
            continue
        try:
            about = _of_trace(file)
        except (OSError, UnreadableInputError):
            continue
        if about is not None:  # beside a timeline, directories hold summaries in JSON
            return about
    return Recorded()


def _of_trace(path: Path) -> Recorded | None:
    """What the events tell; None where the file is made for something else than events."""
    first = head(path, _LOOK_BYTES).decode("utf-8", "replace")
    begun = _EVENTS.search(first)
    if begun is None and len(first) < _LOOK_BYTES:
        return None
    events = [event for event in _events(first, begun.end()) if event.get("ph") != "M"] if begun else []
    if not events:
        seen_whole = begun is not None and len(first) < _LOOK_BYTES
        return Recorded(held=Held.NOTHING if seen_whole else Held.WORK)
    if len(first) < _LOOK_BYTES and _only_marks(events, first):
        return replace(_when(events, first, first), held=Held.MARKS)
    return _when(events, first, tail(path).decode("utf-8", "replace"))


def _only_marks(events: list[dict[str, Any]], text: str) -> bool:
    """Whether nothing was recorded but the marks of steps and ranges.

    A profiler that is stopped right when its next window begins, as by the end of an epoch, writes such a trace.
    """
    lasting = [event for event in events if event.get("ph") in _LASTING]
    marked = {str(event.get("cat", "")).lower() for event in lasting} | {own.lower() for own in _CATEGORY.findall(text)}
    return bool(lasting) and marked <= _MARKS


def _when(events: list[dict[str, Any]], first: str, last: str) -> Recorded:
    """When and by whom events were recorded, by the first and the last piece of their file."""
    host = _HOST.search(first) or _HOST.search(last)
    process = next((pid for event in events if (pid := _host_process(event)) is not None), None)
    about = Recorded(process=process, host=host[1] if host else None)
    base = _BASE.search(first) or _BASE.search(last)
    offset = int(base[1]) if base else 0
    span = _extent(events, last)
    if span is None or span[0] + offset < _LEAST_EPOCH_NS:
        return about
    return replace(about, began_ns=span[0] + offset, ended_ns=span[1] + offset)


def _extent(events: list[dict[str, Any]], last: str) -> tuple[int, int] | None:
    """From the first start to the last end, of the first events and of those in the last piece of the text."""
    timed = [(event.get("ts"), event.get("dur", 0)) for event in events if event.get("ph") in _LASTING]
    timed += _TIMED.findall(last)
    start, length = (nanoseconds([str(pair[column]).encode() for pair in timed]) for column in (0, 1))
    known = (start != NULL) & (length != NULL)
    return (int(start[known].min()), int((start + length)[known].max())) if known.any() else None


def _events(text: str, at: int) -> Iterator[dict[str, Any]]:
    """The whole events of a text, up to the first that is cut off or broken."""
    decoder = json.JSONDecoder(parse_float=str)  # so that times keep their digits
    while True:
        match = _BETWEEN.match(text, at)
        at = match.end() if match else at
        if not text.startswith("{", at):
            return
        try:
            event, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield event


def _host_process(event: dict[str, Any]) -> int | None:
    """The process of an event of the host; events of a device have the number of the device instead."""
    pid = event.get("pid")
    return pid if isinstance(pid, int) and str(event.get("cat", "")).lower() in _HOST_CATEGORIES else None
