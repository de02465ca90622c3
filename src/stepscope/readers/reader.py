"""What every format's package offers, so that the rest of the program needs to know none of them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading


class Reader(Protocol):
    """A package ``readers/<format>``: its three functions are this protocol."""

    def claim(self, directory: Path, folders: list[str], files: list[str], /) -> list[Source] | None:
        """The ranks of a directory that is of this format, with all that lies below it; else nothing."""

    def claim_file(self, path: Path, head: bytes, /) -> Source | None:
        """A file that is of this format by its name and its first bytes; else nothing."""

    def read(self, reading: Reading, /) -> None:
        """Read the files of one rank into its tables."""


def claims_no_directory(_directory: Path, _folders: list[str], _files: list[str]) -> list[Source] | None:
    """For formats that are single files."""
    return None


def claims_no_file(_path: Path, _head: bytes) -> Source | None:
    """For formats that are directories."""
    return None
