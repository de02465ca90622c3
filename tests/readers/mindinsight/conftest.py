"""Fixtures that these tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from readers import mindinsight_builder as made
from readers.mindinsight.read_directories import Read, read


@pytest.fixture
def ascend(tmp_path: Path) -> Read:
    return read(made.write(tmp_path / "profiler", made.contents()), tmp_path / "out")


@pytest.fixture
def gpu(tmp_path: Path) -> Read:
    return read(made.write(tmp_path / "profiler", made.gpu_contents()), tmp_path / "out")
