"""What a user adds to a run by hand: it lives in the user's data directory, outside the store, which can be made again.

::

    <data directory>/<capture>-<hash>.json      {"parallel": …}, replaced in one move
    <data directory>/shared.json                {"baselines": …, "labels": …, "queries": …, "views": …}

A file belongs to the paths of a capture, so all windows of a job know the same plan.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepscope.errors import UnreadableInputError
from stepscope.store.integrity import private_directory, read_document, save_document


@dataclass(frozen=True)
class Workspace:
    """The file for one capture, in sections by name."""

    path: Path

    def section(self, name: str) -> Any:
        """What was kept under a name; None where nothing was."""
        return self._content().get(name)

    def entries(self, name: str) -> dict[str, Any]:
        """What was kept under a name, where that is entries by name; empty elsewhere."""
        content = self.section(name)
        return content if isinstance(content, dict) else {}

    def keep(self, name: str, value: Any) -> None:
        """Remember a section; None forgets it."""
        content = {**self._content(), name: value}
        try:
            private_directory(self.path.parent)
            save_document(self.path, {key: each for key, each in content.items() if each is not None})
        except OSError as error:
            reason = error.strerror or str(error)
            raise UnreadableInputError("cannot_write", path=str(self.path), reason=reason) from error

    def stamp(self) -> str:
        """Changes whenever the file does."""
        with contextlib.suppress(OSError):
            state = self.path.stat()
            return f"{state.st_mtime_ns} {state.st_size} {state.st_ino}"
        return ""

    def _content(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError):
            content = read_document(self.path)
            if isinstance(content, dict):
                return content
        return {}


def workspace_of(paths: Sequence[Path]) -> Workspace:
    """The workspace of a capture of one path or several."""
    full = "\0".join(sorted(str(path) for path in paths))
    readable = re.sub(r"[^\w.-]+", "_", paths[0].name)[:60] or "capture"
    return Workspace(_root() / f"{readable}-{hashlib.sha256(os.fsencode(full)).hexdigest()[:16]}.json")


def shared_workspace() -> Workspace:
    """What belongs to no single capture."""
    return Workspace(_root() / "shared.json")


def _root() -> Path:
    """The user's data directory, or what STEPSCOPE_WORKSPACE says."""
    if chosen := os.environ.get("STEPSCOPE_WORKSPACE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "stepscope"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "stepscope"
