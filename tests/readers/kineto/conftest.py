"""Fixtures that these tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from readers.kineto.opened_traces import Opened
from support.reading import Reading, read
from support.traces import (
    document,
    write,
)


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Reads events, or a whole document, or bytes."""

    def open_it(content: Any, **metadata: Any) -> Reading:
        if isinstance(content, list):
            content = document(content, **metadata)
        reading = read(write(tmp_path / "trace.json", content))
        assert reading.reader == "kineto"
        return reading

    return open_it
