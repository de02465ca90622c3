"""A window onto the text of a file: what was read and not yet used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from stepscope.readers.files.raw_bytes import blocks
from stepscope.store.notes import Notes

_LONGEST_LAST_LINE_BYTES: Final = 1 << 20
#: A single value that is longer than this ends the reading; what came before it stays.
LARGEST_VALUE_BYTES: Final = 64 << 20


class TextBuffer:
    """``text[at:]`` is unused. Reading on drops what is used, so positions are good until the next ``fill()``.

    ``as_array`` makes one array out of a file that has a JSON value on each line.
    """

    def __init__(
        self, path: Path, notes: Notes, on_read: Callable[[int], None] | None, *, as_array: bool = False
    ) -> None:
        self.path = path
        self.notes = notes
        self.text = b""
        self.at = 0
        self.ended = False
        self.bytes_read = 0
        content = blocks(path, notes, on_read)
        self._blocks = _lines_as_array(content) if as_array else content

    def fill(self) -> bool:
        """Read on; False if nothing came. At least as much is read as waits, so that a long value costs linear time."""
        waiting = len(self.text) - self.at
        if waiting > LARGEST_VALUE_BYTES and not self.ended:
            self.notes.add(
                "value_too_long",
                file=self.path.name,
                place=self.location(self.at),
                megabytes=LARGEST_VALUE_BYTES >> 20,
            )
            self.text, self.at, self.ended = b"", 0, True
        parts: list[bytes] = []
        came = 0
        while not self.ended and came < max(waiting, 1):
            block = next(self._blocks, None)
            if block is None:
                self.ended = True
            else:
                parts.append(block)
                came += len(block)
        if not came:
            return False
        self.bytes_read += came
        self.text = b"".join((memoryview(self.text)[self.at :], *parts))
        self.at = 0
        return True

    def skip(self, what: re.Pattern[bytes]) -> bool:
        """Move behind what the pattern matches, reading on if need be; False if nothing follows."""
        while True:
            self.at = self.behind(what)
            if self.at < len(self.text):
                return True
            if not self.fill():
                return False

    def behind(self, what: re.Pattern[bytes]) -> int:
        """The end of what the pattern matches here."""
        match = what.match(self.text, self.at)
        return match.end() if match else self.at

    def next_byte(self) -> int:
        """The byte at the position, which must not be the end."""
        return self.text[self.at]

    def location(self, at: int) -> str:
        """A position in words, for notes."""
        return f"byte {self.bytes_read - len(self.text) + at}"


def _lines_as_array(content: Iterator[bytes]) -> Iterator[bytes]:
    """Strings of JSON hold no line ends, so that each stands between two values. The last may be cut."""
    yield b"["
    last = b""
    for block in content:
        yield block.replace(b"\n", b",\n")
        last = (last + block)[-_LONGEST_LAST_LINE_BYTES:].rsplit(b"\n", 1)[-1]
    if not last.strip() or _is_whole(last):
        yield b"]"


def _is_whole(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
