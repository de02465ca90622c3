"""Whether stored bytes are still those that were written: a checksum per table file, a seal on each document.

A checksum is against damage, not against forgers: CRC-32 finds every flipped bit and every burst of up to 32 bits, and
reads 3 GB a second, so that a file can be checked each time a process first reads it.
"""

from __future__ import annotations

import os
import uuid
import zlib
from pathlib import Path
from typing import Any, Final

import msgspec

_BLOCK_BYTES: Final = 1 << 20
#: Unfinished work carries it in front of its name, and is swept up where its process died.
TEMPORARY: Final = "tmp-"
PRIVATE_FILE: Final = 0o600
PRIVATE_DIRECTORY: Final = 0o700


class _Sealed(msgspec.Struct, forbid_unknown_fields=True):
    checksum: int
    content: msgspec.Raw


def checksum(path: Path, flush: bool = False) -> int:
    """CRC-32 of a file; with ``flush`` its bytes are on the disk afterwards, whatever happens to the machine."""
    total = 0
    with path.open("r+b" if flush else "rb", buffering=0) as file:
        while block := file.read(_BLOCK_BYTES):
            total = zlib.crc32(block, total)
        if flush:
            os.fsync(file.fileno())
    return total


def save_document(path: Path, content: Any) -> None:
    """Replace a document in one move by one that knows its own checksum; only its owner may read it."""
    raw = msgspec.json.encode(content)
    draft = path.with_name(f"{TEMPORARY}{uuid.uuid4().hex}-{path.name}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(_Sealed(zlib.crc32(raw), msgspec.Raw(raw))))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    flush_directory(path.parent)


def read_document(path: Path) -> Any:
    """What a saved document says. ValueError where its bytes are not those that were saved, OSError without a file."""
    try:
        sealed = msgspec.json.decode(path.read_bytes(), type=_Sealed)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    if zlib.crc32(sealed.content) != sealed.checksum:
        raise ValueError("checksum")
    return msgspec.json.decode(sealed.content)


def private_directory(path: Path) -> None:
    """Make a directory, and those above it that are missing, for their owner alone."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for directory in reversed(missing):
        directory.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)


def flush_directory(path: Path) -> None:
    """Let names and renames in a directory survive a power failure, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # network file systems keep names by themselves
        pass
    finally:
        os.close(descriptor)
