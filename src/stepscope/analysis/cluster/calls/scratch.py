"""Temporary directories for what does not fit into memory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


def scratch_directory(owner: object) -> Path:
    """A new directory that goes when its owner does, at the latest when the process ends."""
    directory = Path(tempfile.mkdtemp(prefix="stepscope-calls-"))
    weakref.finalize(owner, shutil.rmtree, directory, ignore_errors=True)
    return directory
