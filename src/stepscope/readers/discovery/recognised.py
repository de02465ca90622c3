"""Files that no reader reads but whose format is known: the user is told what converts them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from stepscope.errors import UnreadableInputError
from stepscope.facts.recognised import recognised_facts
from stepscope.readers.files.raw_bytes import head

_MOST_LOOKED_AT: Final = 200


def recognised_file(path: Path, first: bytes) -> UnreadableInputError | None:
    """Why a file cannot be read, where its format is one of those that must be converted first."""
    text = first.decode("latin-1")
    for known in recognised_facts().format:
        by_name = known.name is not None and re.search(known.name, path.name)
        if by_name or (known.head is not None and re.search(known.head, text)):
            command = known.command.replace("{path}", str(path))
            return UnreadableInputError("recognised_not_read", path=str(path), what=known.what, command=command)
    return None


def only_recognised(root: Path) -> UnreadableInputError | None:
    """The same for the first such file of a directory in which nothing can be read."""
    looked_at = 0
    for below, folders, files in os.walk(root):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        for name in sorted(files):
            looked_at += 1
            if looked_at > _MOST_LOOKED_AT:
                return None
            path = Path(below, name)
            try:
                error = recognised_file(path, head(path)) if path.is_file() else None
            except (OSError, UnreadableInputError):
                continue
            if error is not None:
                return error
    return None
