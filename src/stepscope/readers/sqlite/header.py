"""What the first bytes of a SQLite file say of its size, which tells whether the file was cut off.

Offsets are those of the published file format: page size at 16, size in pages at 28, which counts only while the
change counter at 24 equals the one at 92.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAGIC: Final = b"SQLite format 3\0"

SIZE_IN_PAGES_AT: Final = 28

_HEADER_BYTES: Final = 100
_SMALLEST_PAGE: Final = 512
_LARGEST_PAGE: Final = 65536


@dataclass(frozen=True)
class SqliteSize:
    """Bytes that a file has and those that it says it has; 0 where it does not say."""

    actual: int
    page: int
    stated: int

    @property
    def is_cut(self) -> bool:
        return self.actual < self.stated or self.actual < self.page

    @property
    def whole_pages(self) -> int:
        """Bytes of the pages that are there to their end: SQLite would take the rest of the last one for zeros."""
        return self.actual - self.actual % self.page if self.page else self.actual


def size_of(path: Path) -> SqliteSize | None:
    """The sizes of a file; None if it is no SQLite file. What cannot be opened raises ``OSError``."""
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
        size = file.seek(0, 2)
    if not head.startswith(MAGIC):
        return None
    page = int.from_bytes(head[16:18], "big")
    page = _LARGEST_PAGE if page == 1 else page
    if page < _SMALLEST_PAGE or page & (page - 1):
        return SqliteSize(size, _HEADER_BYTES if len(head) < _HEADER_BYTES else 0, 0)
    is_counted = len(head) == _HEADER_BYTES and head[24:28] == head[92:96]
    return SqliteSize(size, page, page * int.from_bytes(head[SIZE_IN_PAGES_AT:][:4], "big") if is_counted else 0)
