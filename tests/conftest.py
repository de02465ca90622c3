"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from stepscope.cli.options import choose_language
from stepscope.engine import completion
from support.processes import LastingProcesses
from support.samples import SHARED_DATA

#: Scripts to be run by hand, each in an environment with its framework.
collect_ignore = ["recordings"]

settings.register_profile(
    "stepscope", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("stepscope")


@pytest.fixture(scope="session", autouse=True)
def own_workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What fixtures of whole modules start, such as servers, keeps nothing beside what the developer keeps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEPSCOPE_WORKSPACE", str(tmp_path_factory.mktemp("workspace")))
        yield


@pytest.fixture(scope="session", autouse=True)
def lasting_processes() -> Iterator[None]:
    """Ranks are read by processes that stay, except where reading in processes is what is tested."""
    processes = LastingProcesses()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(completion, "run_tasks", processes.run_tasks)
        yield
    processes.close()


@pytest.fixture(autouse=True)
def isolated_store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory for this test alone. Not inside ``tmp_path``, because a store may not lie inside a capture."""
    store = tmp_path_factory.mktemp("cache", numbered=True)
    monkeypatch.setenv("STEPSCOPE_CACHE", str(store))
    monkeypatch.setenv("STEPSCOPE_WORKSPACE", str(store.with_name(f"{store.name}-workspace")))
    return store


@pytest.fixture(autouse=True)
def language_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that another test called in this process keeps its language to itself."""
    choose_language([])
    monkeypatch.delenv("STEPSCOPE_LANG", raising=False)


@pytest.fixture
def shared_data() -> Path:
    """The directory of real captures; tests that need it are skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no real captures in {SHARED_DATA}")
    return SHARED_DATA
