"""Fixtures that these tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readers.memory_snapshot.opened_snapshots import Read
from readers.memory_snapshot_builder import write


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    def reading(content: Any, name: str = "snapshot.pickle", protocol: int = 4) -> Read:
        path = content if isinstance(content, Path) else write(tmp_path, content, name, protocol)
        return Read(path, tmp_path)

    return reading
