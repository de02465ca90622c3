"""Fixtures that these tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from readers.ascend_db_builder import (
    Read,
    rank_directory,
    read_directory,
    small_run,
)


@pytest.fixture
def run(tmp_path: Path) -> Read:
    return read_directory(rank_directory(tmp_path / "capture", small_run()), tmp_path / "out")
