"""Events out of the text of a JSON trace, in batches, whatever its layout and however it ends.

The normal way is fast: cut the text behind the last whole event, decode the piece strictly. A cut at a
wrong place cannot pass unseen, because its brackets do not balance. Where the strict decoder objects, the
same piece is walked event by event, damaged ones are repaired or dropped, and each is counted in the notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from stepscope.errors import UnreadableInputError
from stepscope.readers import repair
from stepscope.readers.raw_bytes import blocks
from stepscope.store.notes import Notes

_LARGEST_VALUE_BYTES: Final = 64 << 20  # one event or one metadata value
_MOST_WASTED_BYTES: Final = 256 << 20  # scanned in vain for the end of broken events

_SPACE: Final = re.compile(rb"(?:\s|\xef\xbb\xbf)*")
_SPACE_AND_COMMAS: Final = re.compile(rb"[\s,]*")
_BORDER: Final = re.compile(rb"\}\s*+,\s*+\{")
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_SCALAR: Final = re.compile(rb"[^\s,\]}]+")
_KEY: Final = re.compile(rb'"((?:[^"\\]++|\\.)*+)"\s*:\s*', re.DOTALL)


class Event(msgspec.Struct, gc=False):
    """One element of ``traceEvents``; numbers keep their text, so that no digit is lost."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: int | str | float | None = None
    tid: int | str | float | None = None
    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()
    args: msgspec.Raw = msgspec.Raw()
    id: msgspec.Raw = msgspec.Raw()


_EVENTS: Final = msgspec.json.Decoder(list[Event])
_EVENT: Final = msgspec.json.Decoder(Event)
_FAULTS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class TraceText:
    """Reads one file once: iterate over ``batches()``, then look at ``metadata``."""

    def __init__(self, path: Path, notes: Notes, on_read: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.notes = notes
        self.metadata: dict[str, Any] = {}
        self.bytes_read = 0
        self._blocks = blocks(path, notes, on_read)
        self._text = b""
        self._at = 0
        self._ended = False
        self._wasted = 0

    def batches(self) -> Iterator[list[Event]]:
        """All whole events of the file, in file order."""
        documents = 0
        while self._skip(_SPACE):
            opening = self._text[self._at : self._at + 1]
            if opening == b"[":
                self._at += 1
                yield from self._array()
            elif opening == b"{":
                self._at += 1
                yield from self._object()
            else:
                if not documents:
                    raise UnreadableInputError("not_json", path=str(self.path))
                self.notes.add("text_after_end", file=self.path.name)
                return
            documents += 1
        if not documents:
            raise UnreadableInputError("empty_file", path=str(self.path))

    # --- the top-level object -------------------------------------------------------------------------

    def _object(self) -> Iterator[list[Event]]:
        while self._skip(_SPACE_AND_COMMAS):
            if self._text[self._at : self._at + 1] == b"}":
                self._at += 1
                return
            key = self._key()
            if key is None:
                break
            if key == "traceEvents" and self._text[self._at : self._at + 1] == b"[":
                self._at += 1
                yield from self._array()
            else:
                value = self._value()
                if value is None:
                    break
                self.metadata[key] = value
        self._truncated()

    def _key(self) -> str | None:
        while True:
            match = _KEY.match(self._text, self._at)
            if match and match.end() < len(self._text):
                self._at = match.end()
                return match[1].decode("utf-8", "replace")
            if not self._fill():
                return None

    def _value(self) -> Any:
        while (end := value_end(self._text, self._at)) is None:
            if not self._fill():
                return None
        text, self._at = self._text[self._at : end], end
        value = repair.lenient(text)
        if value is None and text != b"null":
            self.notes.add("metadata_dropped", file=self.path.name)
        return value if value is not None else ""

    # --- the array of events --------------------------------------------------------------------------

    def _array(self) -> Iterator[list[Event]]:
        """Batches up to the closing bracket; leaves the position behind it."""
        while self._fill():
            cut = _last_border(self._text, self._at)
            if cut is None:
                continue
            begin = self._past(_SPACE_AND_COMMAS)
            try:
                batch = _EVENTS.decode(b"".join((b"[", memoryview(self._text)[begin:cut], b"]")))
                self._at = cut
            except _FAULTS:
                batch, closed = self._walk(cut)
                if closed:
                    yield batch
                    return
            yield batch
        batch, closed = self._walk(len(self._text))
        yield batch
        if not closed:
            self._truncated()

    def _walk(self, limit: int) -> tuple[list[Event], bool]:
        """The events up to ``limit`` one by one; whether the array closed before it."""
        found: list[Event] = []
        while True:
            self._at = self._past(_SPACE_AND_COMMAS)
            if self._at >= limit:
                return found, False
            opening = self._text[self._at]
            if opening == ord("]"):
                self._at += 1
                return found, True
            if opening != ord("{"):
                self._walk_junk(limit)
            elif (event := self._walk_object(limit)) is not None:
                found.append(event)

    def _walk_object(self, limit: int) -> Event | None:
        """The object at the position, taken as it is, repaired, or dropped; the position moves behind it."""
        begin = self._at
        border = _BORDER.search(self._text, begin, limit)
        ends = [border.start() + 1] if border else []
        for end in ends:
            if (event := _strictly(self._text[begin:end])) is not None:
                self._at = end
                return event
        # Objects inside the arguments look like a border too, and so does the end of the array like nothing.
        balanced = self._balanced_end(begin, limit)
        if balanced is not None and balanced not in ends:
            ends.append(balanced)
            if (event := _strictly(self._text[begin:balanced])) is not None:
                self._at = balanced
                return event
        if not ends:
            self._at = limit
            if limit == len(self._text):
                return None  # what the end of the file cut in two
            ends.append(limit)
        for end in ends:
            fields = repair.event(self._text[begin:end])
            if fields is not None:
                self._at = end
                self.notes.add("event_repaired", file=self.path.name, place=self._place(begin))
                return Event(**fields)
        self._at = ends[0]
        self.notes.add("event_dropped", file=self.path.name, place=self._place(begin))
        return None

    def _balanced_end(self, begin: int, limit: int) -> int | None:
        """Where the brackets balance, looked for only while the file has not wasted too much of our time."""
        if self._wasted > _MOST_WASTED_BYTES:
            return None
        end = value_end(self._text, begin, limit)
        if end is None:
            self._wasted += limit - begin
        return end

    def _walk_junk(self, limit: int) -> None:
        """An element that is no object."""
        begin = self._at
        self._at = max(begin + 1, value_end(self._text, begin, limit) or limit)
        self.notes.add("event_dropped", file=self.path.name, place=self._place(begin))

    # --- the buffer -----------------------------------------------------------------------------------

    def _fill(self) -> bool:
        """Forget what is read, append a block; False at the end of the file."""
        if self._ended:
            return False
        rest = self._text[self._at :]
        if len(rest) > _LARGEST_VALUE_BYTES:
            rest = rest.lstrip()
            if len(rest) > _LARGEST_VALUE_BYTES:
                self.notes.add(
                    "value_too_long",
                    file=self.path.name,
                    place=self._place(self._at),
                    megabytes=_LARGEST_VALUE_BYTES >> 20,
                )
                self._text, self._at, self._ended = b"", 0, True
                return False
        block = next(self._blocks, None)
        if block is None:
            self._ended = True
            return False
        self.bytes_read += len(block)
        self._text = rest + block
        self._at = 0
        return True

    def _skip(self, what: re.Pattern[bytes]) -> bool:
        """Skip what the pattern matches; False if nothing follows."""
        while True:
            self._at = self._past(what)
            if self._at < len(self._text):
                return True
            if not self._fill():
                return False

    def _past(self, what: re.Pattern[bytes]) -> int:
        match = what.match(self._text, self._at)
        return match.end() if match else self._at

    def _place(self, at: int) -> str:
        return f"byte {self.bytes_read - len(self._text) + at}"

    def _truncated(self) -> None:
        self.notes.add("file_truncated", file=self.path.name, place=f"byte {self.bytes_read}")


def _strictly(text: bytes) -> Event | None:
    try:
        return _EVENT.decode(text)
    except _FAULTS:
        return None


def looks_like_trace(head: bytes) -> bool:
    """Whether the text begins like a Chrome trace: an object with ``traceEvents``, or an array of events."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"{"):
        return b'"traceEvents"' in text
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
        if kind in b"[{":
            depth += 1
        elif kind in b"]}":
            depth -= 1
        if depth <= 0:
            return token.end()
    return None


def _last_border(text: bytes, begin: int) -> int | None:
    """The end of the last whole event that another one follows."""
    window = 1 << 16
    while True:
        low = max(begin, len(text) - window)
        borders = [border.start() + 1 for border in _BORDER.finditer(text, low)]
        if borders:
            return borders[-1]
        if low == begin:
            return None
        window *= 16
