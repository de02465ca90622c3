"""Fixtures of the tests of delivered files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deliver.recorded_jobs import MINDSPORE, Recorded, record

#: Scripts for other interpreters, no tests.
collect_ignore = ["mindspore_training.py", "mindspore_minddata.py"]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Recorded]:
    """A real training of that framework and number of ranks, recorded when it is first asked for."""
    jobs: dict[tuple[str, int], Recorded] = {}

    def job(framework: str, world: int) -> Recorded:
        if framework == "mindspore" and not MINDSPORE.exists():
            pytest.skip("needs MindSpore in .venv-mindspore, which make test installs")
        if framework == "torch":
            pytest.importorskip("torch")
        if (framework, world) not in jobs:
            jobs[framework, world] = record(framework, world, tmp_path_factory.mktemp(f"{framework}{world}"))
        return jobs[framework, world]

    return job
