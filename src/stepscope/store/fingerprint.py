"""Whether a source is still the one that was read: names, sizes, times, and a hash of its head and tail."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_SAMPLE_BYTES: Final = 1 << 16


def fingerprint(files: Iterable[Path]) -> str:
    """Changes when one of the files does."""
    digest = hashlib.blake2b(digest_size=16)
    for path in files:
        _add(path, digest)
    return digest.hexdigest()


def _add(path: Path, digest: hashlib.blake2b) -> None:
    state = path.stat()
    digest.update(f"{path} {state.st_size} {state.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    with path.open("rb") as file:
        digest.update(file.read(_SAMPLE_BYTES))
        if state.st_size > _SAMPLE_BYTES:
            file.seek(max(_SAMPLE_BYTES, state.st_size - _SAMPLE_BYTES))
            digest.update(file.read(_SAMPLE_BYTES))
