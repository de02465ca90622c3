"""Fixtures that these tests share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from readers.msmemscope.opened_dumps import Read
from readers.msmemscope_builder import Row, write_csv


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    def reading(rows: Sequence[Row]) -> Read:
        return Read(write_csv(tmp_path / "memscope_dump_1.csv", rows), tmp_path)

    return reading
