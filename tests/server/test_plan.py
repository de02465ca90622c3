"""A parallel plan that is given over HTTP: checked, kept in the workspace, and what questions go by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from server.running import served
from stepscope.simulate.scenario import Plan
from stepscope.simulate.writing import simulate
from support.scenarios import NPU, small


@pytest.fixture(autouse=True)
def own_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPSCOPE_WORKSPACE", str(tmp_path / "workspace"))


def _sizes(answer: dict[str, Any]) -> dict[str, int]:
    return {each["dimension"]: each["size"] for each in answer["data"]["plan"]["dimensions"] if each["size"] > 1}


def test_a_given_plan_counts_until_it_is_forgotten(tmp_path: Path) -> None:
    written = simulate(small(NPU, plan=Plan(dp=4, micro_batches=2), steps=2), tmp_path / "run").directory
    with served(written, store=tmp_path / "store") as server:
        run = server.ready()
        ask, give = server.client.get, server.client.post
        before = _sizes(ask(f"{run}/cluster").json())
        assert before == {"dp": 4}
        assert ask(f"{run}/plan").json()["sizes"] == {}

        given = give(f"{run}/plan", json={"parallel": "tp=2"}).json()
        assert (given["sizes"]["tp"], given["sizes"]["dp"]) == (2, 2)
        answer = ask(f"{run}/cluster").json()
        assert _sizes(answer) == {"dp": 2, "tp": 2}
        assert answer["data"]["plan"]["origin"] == "given"

        assert give(f"{run}/plan", json={"groups": {"pp": [[0, 2], [1, 3]]}}).status_code == 200
        assert [row["pp"] for row in ask(f"{run}/cluster").json()["data"]["ranks"]] == [0, 0, 1, 1]

        refused = give(f"{run}/plan", json={"parallel": "tp=3"})
        assert (refused.status_code, refused.json()["code"]) == (400, "plan_does_not_fit")
        assert give(f"{run}/plan", json={"groups": {"tp": [[0, 1], [1, 2]]}}).json()["code"] == "plan_rank_twice"

        give(f"{run}/plan", json={"parallel": "auto"})
        assert _sizes(ask(f"{run}/cluster").json()) == before
