"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import stepscope
from stepscope.run import Run
from support.samples import SHARED_DATA

#: Scripts to be run by hand, each in an environment with its framework.
collect_ignore = ["recordings"]

settings.register_profile(
    "stepscope", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("stepscope")


@pytest.fixture(autouse=True)
def isolated_store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory for this test alone. Not inside ``tmp_path``, because a store may not lie inside a capture."""
    store = tmp_path_factory.mktemp("cache", numbered=True)
    monkeypatch.setenv("STEPSCOPE_CACHE", str(store))
    return store


@pytest.fixture
def shared_data() -> Path:
    """The directory of real captures; tests that need it are skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no real captures in {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture(scope="session")
def open_sample(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Run]:
    """Opens a capture that many tests look at: read once per test run, into a store of its own. Not to be changed."""
    opened: dict[Path, Run] = {}

    def open_once(path: Path) -> Run:
        if path not in opened:
            opened[path] = stepscope.load(path, store=tmp_path_factory.mktemp("samples"), progress=False)
        return opened[path]

    return open_once
