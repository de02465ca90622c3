"""Events out of the text of a JSON trace, in batches, whatever its layout and however it ends.

The normal way is fast: cut the text behind the last whole event, scan the piece into columns. A cut at a
wrong place cannot pass unseen, because its brackets do not balance. What is unusual to the scanner is decoded into
objects; where the strict decoder objects, the same piece is walked event by event, damaged ones are repaired or
dropped, and each is counted in the notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from stepscope.errors import UnreadableInputError
from stepscope.readers.files import repair
from stepscope.readers.files.raw_bytes import HEAD_BYTES, head
from stepscope.readers.trace_json.event_batches import DecodedEvents, Heads, ScannedEvents
from stepscope.readers.trace_json.text_buffer import TextBuffer
from stepscope.readers.trace_json.trace_event import EVENT, EVENTS, FAULTS, Event
from stepscope.store.notes import Notes

try:
    from stepscope.readers.trace_json import event_scanner
except ImportError:  # built where there was no C compiler
    event_scanner = None  # type: ignore[assignment]

_MOST_WASTED_BYTES: Final = 32 << 20  # scanned in vain for the end of broken events
_PATIENCE_BYTES: Final = 4 << 20  # an event that has no end within this is broken, not merely unfinished
_LONGEST_KEY_BYTES: Final = 1 << 16
_LONGEST_HEADER_BYTES: Final = 16 << 20

_BEFORE_TEXT: Final = b"\xef\xbb\xbf \t\r\n"
_SPACE: Final = re.compile(rb"(?:\s++|\xef\xbb\xbf)*+")
_SPACE_AND_COMMAS: Final = re.compile(rb"[\s,]*+")
_BORDER: Final = re.compile(rb"\}\s*+,\s*+\{")
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{}]', re.DOTALL)  # a lone quote: a string without end
_SCALAR: Final = re.compile(rb"[^\s,\]}]+")
_KEY: Final = re.compile(rb'"((?:[^"\\]++|\\.)*+)"\s*+:\s*+', re.DOTALL)
# What a damaged event ends at: only a border behind which an event begins, not one of the objects inside it.
_EVENT_BORDER: Final = re.compile(rb'\}\s*+,\s*+\{\s*+"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)"\s*+:')
_EVENTS_KEY: Final = re.compile(rb'"traceEvents"\s*+:\s*+\[')
# Borders to cut at, counted from the last: an object inside an event's arguments may look like one.
_CUTS: Final = (1, 2, 4, 8)


EventBatch = DecodedEvents | ScannedEvents


class TraceText:
    """Reads one file once: iterate over ``batches()``, then look at ``metadata``."""

    def __init__(self, path: Path, notes: Notes, on_read: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.notes = notes
        self.metadata: dict[str, Any] = {}
        self._buffer = TextBuffer(path, notes, on_read, as_array=_has_line_per_event(head(path)))
        self._wasted = 0
        self._heads = Heads()

    def batches(self) -> Iterator[EventBatch]:
        """All whole events of the file, in file order."""
        documents = 0
        while self._buffer.skip(_SPACE):
            opening = self._buffer.next_byte()
            if opening == ord("["):
                self._buffer.at += 1
                yield from self._array()
            elif opening == ord("{"):
                self._buffer.at += 1
                yield from self._object()
            elif documents:
                self.notes.add("text_after_end", file=self.path.name)
                return
            else:
                raise UnreadableInputError("not_json", path=str(self.path))
            documents += 1
        if not documents:
            raise UnreadableInputError("empty_file", path=str(self.path))

    # --- the top-level object -------------------------------------------------------------------------

    def _object(self) -> Iterator[EventBatch]:
        buffer = self._buffer
        while buffer.skip(_SPACE_AND_COMMAS):
            if buffer.next_byte() == ord("}"):
                buffer.at += 1
                return
            key = self._key()
            if key == "traceEvents" and buffer.text.startswith(b"[", buffer.at):
                buffer.at += 1
                yield from self._array()
            elif key is None or not self._take_value(key):
                # Broken metadata must not hide the events behind them.
                self.notes.add("metadata_dropped", file=self.path.name)
                if not self._go_to_events():
                    break
                yield from self._array()
        self._truncated()

    def _key(self) -> str | None:
        """The key at the position, which moves to its value; None if there is none."""
        buffer = self._buffer
        while True:
            match = _KEY.match(buffer.text, buffer.at)
            if match and match.end() < len(buffer.text):
                buffer.at = match.end()
                return match[1].decode("utf-8", "replace")
            if len(buffer.text) - buffer.at > _LONGEST_KEY_BYTES or not buffer.fill():
                return None

    def _take_value(self, key: str) -> bool:
        """Take the value at the position into the metadata; False if it has no end."""
        buffer = self._buffer
        while (end := value_end(buffer.text, buffer.at)) is None:
            if _EVENTS_KEY.search(buffer.text, buffer.at) or not buffer.fill():
                return False
        text, buffer.at = buffer.text[buffer.at : end], end
        value = repair.lenient(text)
        if value is None and text != b"null":
            self.notes.add("metadata_dropped", file=self.path.name)
        else:
            self.metadata[key] = value
        return True

    def _go_to_events(self) -> bool:
        """Move into the array of events, wherever it begins; False if it does not."""
        buffer = self._buffer
        while True:
            match = _EVENTS_KEY.search(buffer.text, buffer.at)
            if match:
                buffer.at = match.end()
                return True
            buffer.at = max(buffer.at, len(buffer.text) - _LONGEST_KEY_BYTES)
            if not buffer.fill():
                buffer.at = len(buffer.text)
                return False

    # --- the array of events --------------------------------------------------------------------------

    def _array(self) -> Iterator[EventBatch]:
        """Batches up to the closing bracket; leaves the position behind it."""
        buffer = self._buffer
        while True:
            buffer.at = buffer.behind(_SPACE_AND_COMMAS)
            at_end = not buffer.fill()
            batch = self._to_last_border()
            if batch is not None:
                yield batch
                continue
            events, closed = self._walk(at_end)
            yield DecodedEvents(events)
            if closed:
                return
            if at_end:
                self._truncated()
                return

    def _to_last_border(self) -> EventBatch | None:
        """All events that another one follows, at once; None if there are none, or the text objects."""
        buffer = self._buffer
        begin = buffer.behind(_SPACE_AND_COMMAS)
        borders = _last_borders(buffer.text, begin)
        for number in _CUTS:
            if number > len(borders):
                break
            cut = borders[-number]
            batch = self._scanned(begin, cut)
            if batch is None:
                batch = self._decoded(begin, cut)
            if batch is not None:
                buffer.at = cut
                return batch
        return None

    def _scanned(self, begin: int, end: int) -> EventBatch | None:
        if event_scanner is None:
            return None
        self._heads = self._heads.of_bounded_size()
        try:
            scanned = event_scanner.scan(self._buffer.text, begin, end, self._heads)
        except FAULTS:  # of a head
            return None
        return None if scanned is None else ScannedEvents(scanned, self._heads)

    def _decoded(self, begin: int, end: int) -> EventBatch | None:
        try:
            return DecodedEvents(EVENTS.decode(b"".join((b"[", memoryview(self._buffer.text)[begin:end], b"]"))))
        except FAULTS:
            return None

    def _walk(self, at_end: bool) -> tuple[list[Event], bool]:
        """The events one by one, up to one that is not complete yet; whether the array closed."""
        buffer = self._buffer
        events: list[Event] = []
        while True:
            buffer.at = buffer.behind(_SPACE_AND_COMMAS)
            if buffer.at >= len(buffer.text):
                return events, False
            if buffer.next_byte() == ord("]"):
                buffer.at += 1
                return events, True
            begin = buffer.at
            if buffer.next_byte() != ord("{"):
                self._walk_junk(at_end)
            elif (event := self._walk_object(at_end)) is not None:
                events.append(event)
            if buffer.at == begin:
                return events, False

    def _walk_object(self, at_end: bool) -> Event | None:
        """The object at the position, as it is, repaired, or dropped. The position stays if more text is needed."""
        buffer = self._buffer
        begin = buffer.at
        border = _BORDER.search(buffer.text, begin)
        ends = [border.start() + 1] if border else []
        if ends and (event := _strictly(buffer.text[begin : ends[0]])) is not None:
            buffer.at = ends[0]
            return event
        # Objects inside the arguments look like a border too, and the last event of the array has none.
        balanced = self._balanced_end(begin)
        if balanced is not None and balanced not in ends:
            ends.append(balanced)
            if (event := _strictly(buffer.text[begin:balanced])) is not None:
                buffer.at = balanced
                return event
        if balanced is None:
            if not at_end and len(buffer.text) - begin < _PATIENCE_BYTES:
                return None
            border = _EVENT_BORDER.search(buffer.text, begin)
            ends = [border.start() + 1] if border else []
        if not ends:
            buffer.at = len(buffer.text)  # what the end of the file cut in two
            return None
        for end in ends:
            fields = repair.event(buffer.text[begin:end])
            if fields is None:
                self._wasted += end - begin
            else:
                buffer.at = end
                self.notes.add("event_repaired", file=self.path.name, place=buffer.location(begin))
                return Event(**fields)
        buffer.at = ends[0]
        self.notes.add("event_dropped", file=self.path.name, place=buffer.location(begin))
        return None

    def _balanced_end(self, begin: int) -> int | None:
        """Where the brackets balance, looked for only while the file has not wasted too much of our time."""
        if self._wasted > _MOST_WASTED_BYTES:
            return None
        end = value_end(self._buffer.text, begin)
        if end is None:
            self._wasted += len(self._buffer.text) - begin
        return end

    def _walk_junk(self, at_end: bool) -> None:
        """An element that is no object. The position stays if more text is needed."""
        buffer = self._buffer
        begin = buffer.at
        end = value_end(buffer.text, begin)
        if end is None and not at_end and len(buffer.text) - begin < _PATIENCE_BYTES:
            return
        if end is None:
            border = _EVENT_BORDER.search(buffer.text, begin)
            end = border.start() + 1 if border else len(buffer.text)
        buffer.at = max(begin + 1, end)
        self.notes.add("event_dropped", file=self.path.name, place=buffer.location(begin))

    def _truncated(self) -> None:
        self.notes.add("file_truncated", file=self.path.name, place=f"byte {self._buffer.bytes_read}")


def _strictly(text: bytes) -> Event | None:
    try:
        return EVENT.decode(text)
    except FAULTS:
        return None


def _has_line_per_event(first: bytes) -> bool:
    """Whether a file that begins so has an event on each line, without an array around them."""
    line = first.lstrip(_BEFORE_TEXT).split(b"\n", 1)[0]
    event = _strictly(line) if line.startswith(b"{") and b'"traceEvents"' not in line else None
    return event is not None and event.ph is not None


def looks_like_trace(path: Path, first: bytes) -> bool:
    """Whether a file that begins so is a Chrome trace: one object, an array of events, or a line for each."""
    text = first.lstrip(_BEFORE_TEXT)
    if text.startswith(b"{") and _has_line_per_event(text):
        return True
    if text.startswith(b"{"):
        # Metadata before the events may be long.
        return b'"traceEvents"' in text or (
            len(first) >= HEAD_BYTES and b'"traceEvents"' in head(path, _LONGEST_HEADER_BYTES)
        )
    return text.startswith(b"[") and (b'"ph"' in text or text[1:].strip() in (b"", b"]"))


def value_end(text: bytes, at: int, limit: int | None = None) -> int | None:
    """Where the JSON value that begins at ``at`` ends, or None if it does not before ``limit``.

    Brackets are counted, not recursed into: the depth of a hostile file costs no stack.

    >>> value_end(b'{"a": "}"}, 7', 0)
    10
    """
    limit = len(text) if limit is None else limit
    if at >= limit:
        return None
    if text[at] not in b'"[{':
        scalar = _SCALAR.match(text, at, limit)
        return scalar.end() if scalar and scalar.end() < limit else None
    depth = 0
    for token in _TOKEN.finditer(text, at, limit):
        kind = text[token.start()]
        if kind == ord('"') and token.end() - token.start() == 1:
            return None
        if kind in b"[{":
            depth += 1
        elif kind in b"]}":
            depth -= 1
        if depth <= 0:
            return token.end()
    return None


def _last_borders(text: bytes, begin: int) -> list[int]:
    """Ends of events that another one follows, at least the last ones, in order."""
    window = 1 << 13
    while True:
        low = max(begin, len(text) - window)
        borders = [border.start() + 1 for border in _BORDER.finditer(text, low)]
        if len(borders) >= _CUTS[-1] or low == begin:
            return borders
        window *= 16
