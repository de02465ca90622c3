"""What lies in a folder."""

from __future__ import annotations

from pathlib import Path


def files_in(folder: Path) -> list[Path]:
    """The files of a folder in the order of their names; none where it cannot be looked into."""
    try:
        return sorted(entry for entry in folder.iterdir() if entry.is_file())
    except OSError:
        return []
