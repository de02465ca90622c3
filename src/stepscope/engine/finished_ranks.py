"""Ranks that were read completely before an interruption need not be read again.

A finished rank describes itself in a document of its own, with a checksum per file, until the run is stored.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Final

from stepscope.store.integrity import checksum, read_document, save_document
from stepscope.store.run_store import Part
from stepscope.store.schema import SCHEMA_VERSION
from stepscope.version import __version__

FILE: Final = "part.json"
_WRITTEN_BY: Final = f"{__version__} {SCHEMA_VERSION}"


def describe(part: Part, directory: Path) -> None:
    """Write the description of a rank into the directory with its files."""
    sums = {name: checksum(directory / Path(name).name) for name in part.files()}
    save_document(directory / FILE, {"written_by": _WRITTEN_BY, "part": asdict(part), "checksums": sums})


def finished_part(directory: Path) -> Part | None:
    """The rank whose files lie in a directory, if all of them are as they were written."""
    try:
        described = read_document(directory / FILE)
        whole = described["written_by"] == _WRITTEN_BY and all(
            checksum(directory.parent / name) == expected for name, expected in described["checksums"].items()
        )
        return Part(**described["part"]) if whole else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def finished_before(store: Path, wanted: set[tuple[int, str, str]]) -> dict[str, Part]:
    """Finished ranks of earlier attempts that are still wanted, by the name of their directory."""
    finished: dict[str, Part] = {}
    known: set[tuple[int, str, str]] = set()
    for described in sorted(store.glob(f"rank-*/{FILE}")):
        part = finished_part(described.parent)
        if part is not None and part.identity() in wanted - known:
            known.add(part.identity())
            finished[described.parent.name] = part
    return finished
