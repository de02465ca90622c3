"""Databases of one file, read; and the fingerprints of what lies in a folder."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from readers.ascend_db_builder import (
    Builder,
    Read,
)
from stepscope.readers import ascend_db


def read_file(build: Builder, tmp_path: Path, name: str = "ascend_pytorch_profiler_0.db", **how: Any) -> Read:
    path = build.write(tmp_path / "flat" / name, **how)
    source = ascend_db.claim_file(path, path.read_bytes()[:100])
    assert source is not None
    return Read(source, tmp_path / "out")


def fingerprints(directory: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.rglob("*") if path.is_file()}
