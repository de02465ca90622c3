"""Fixtures for the tests on recordings of our own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stepscope.run import Run
from support.recordings import capture_of
from support.samples import open_sample


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Opens a recording of ``tests/data`` by its name."""
    captures: dict[str, Path] = {}

    def open_recording(name: str) -> Run:
        if name not in captures:
            captures[name] = capture_of(name, tmp_path_factory.mktemp(name))
        return open_sample(captures[name])

    return open_recording
