"""Links that lead out of the directories that somebody may read: what lies behind them is left out, and noted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.source import Source
from stepscope.readers.discovery.windows import Window
from stepscope.store.notes import Notes


def windows_within(windows: list[Window], directories: Sequence[Path], paths: Sequence[Path]) -> list[Window]:
    """The windows without sources that lie elsewhere in truth."""
    outside = Notes()
    inside = []
    for window in windows:
        sources = [source for source in window.sources if _is_within(source, directories, outside)]
        if sources:
            inside.append(Window(window.name, sources, window.notes))
    if not inside:
        raise UnreadableInputError("nothing_to_read", path=", ".join(map(str, paths)))
    for window in inside:
        window.say(outside)
    return inside


def _is_within(source: Source, directories: Sequence[Path], notes: Notes) -> bool:
    real_files = [Path(os.path.realpath(file)) for file in source.files]
    allowed = [*directories]
    if any(directory in real_files for directory in directories):
        # Whoever may read a file that was named alone may read the capture that it is a part of.
        allowed.append(Path(os.path.realpath(os.path.commonpath([file.parent for file in source.files]))))
    for file, real in zip(source.files, real_files, strict=True):
        if not any(real == directory or real.is_relative_to(directory) for directory in allowed):
            notes.add("link_not_followed", link=file.name)
            return False
    return True
