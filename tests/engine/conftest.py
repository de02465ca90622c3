"""What the tests of engines share."""

from __future__ import annotations

import pytest

from stepscope.engine import completion, local


@pytest.fixture(autouse=True)
def own_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here every reading starts its own processes, as it does for users."""
    monkeypatch.setattr(completion, "run_tasks", local.run_tasks)
