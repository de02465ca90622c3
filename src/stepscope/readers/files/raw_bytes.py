"""The bytes of a capture file, plain or gzip, in blocks, with bounds on what an archive may unfold to."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from stepscope.errors import UnreadableInputError
from stepscope.store.notes import Notes

HEAD_BYTES: Final = 1 << 16  # enough to recognise a format
GZIP_MAGIC: Final = b"\x1f\x8b"
BLOCK_BYTES: Final = 2 << 20  # larger ones leave the cache of the processor

# Traces compress 14 to 18 times, padded ones perhaps 60; beyond this it is a bomb, not a trace.
_MOST_EXPANSION: Final = 100
_ALWAYS_ALLOWED_BYTES: Final = 32 << 20


def blocks(path: Path, notes: Notes, on_read: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """The file's content in blocks of bounded size; a damaged gzip ends early with a note.

    ``on_read`` is told the bytes taken from disk, for progress.
    """
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == GZIP_MAGIC
            file.seek(0)
            raw = _from_disk(file, BLOCK_BYTES // 16 if zipped else BLOCK_BYTES, on_read)
            yield from _inflate(path, raw, notes) if zipped else raw
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=error.strerror or str(error)) from error


def head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first ``size`` bytes of the content, decompressed if need be; less where it is damaged."""
    content = b""
    for block in blocks(path, Notes()):
        content += block
        if len(content) >= size:
            break
    return content[:size]


def words_inside(path: Path, words: Sequence[bytes]) -> set[bytes]:
    """Which of some words the content has anywhere."""
    seen: set[bytes] = set()
    longest = max(map(len, words))
    before = b""
    for block in blocks(path, Notes()):
        text = before + block
        seen |= {word for word in words if word not in seen and word in text}
        if len(seen) == len(words):
            break
        before = text[1 - longest :]
    return seen


def _from_disk(file: BinaryIO, size: int, on_read: Callable[[int], None] | None) -> Iterator[bytes]:
    while block := file.read(size):
        if on_read is not None:
            on_read(len(block))
        yield block


def _inflate(path: Path, raw: Iterator[bytes], notes: Notes) -> Iterator[bytes]:
    read = written = 0
    member = None  # a gzip file is one or more members, one after the other
    try:
        for block in raw:
            read += len(block)
            rest = block
            while rest:
                if member is None:
                    rest = rest.lstrip(b"\0")
                    if not rest.startswith(GZIP_MAGIC[: len(rest)]):
                        notes.add("gzip_trailing_bytes", file=path.name)
                        return
                    member = zlib.decompressobj(wbits=31)
                out = member.decompress(rest, BLOCK_BYTES)
                written += len(out)
                if written > max(_ALWAYS_ALLOWED_BYTES, read * _MOST_EXPANSION):
                    raise UnreadableInputError("decompression_bomb", path=str(path), times=_MOST_EXPANSION)
                if out:
                    yield out
                rest = member.unconsumed_tail
                if member.eof:
                    rest, member = member.unused_data, None
        if member is not None:
            yield member.flush()
            notes.add("gzip_truncated", file=path.name)
    except zlib.error:
        notes.add("gzip_corrupt", file=path.name, place=f"byte {written}")


def tail(path: Path, size: int = 1 << 16) -> bytes:
    """The last ``size`` bytes of the content; a gzip file is read through for it."""
    with path.open("rb") as file:
        if file.read(2) != GZIP_MAGIC:
            file.seek(max(0, path.stat().st_size - size))
            return file.read()
    last = b""
    for block in blocks(path, Notes()):
        last = (last + block)[-size:]
    return last
