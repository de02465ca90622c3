"""What a user keeps through the page: names and tags of runs, queries, views; and verdicts in the list of runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.running import served
from stepscope.store.integrity import read_document, save_document
from support.mini_trace import write_capture


@pytest.fixture
def capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEPSCOPE_WORKSPACE", str(tmp_path / "workspace"))
    return write_capture(tmp_path / "data" / "capture", [0])


def test_a_name_and_tags_of_a_run_outlive_the_server(capture: Path) -> None:
    with served(capture) as server:
        path = server.ready()
        told = server.client.put(f"{path}/label", json={"name": " before ", "tags": ["fp32", "fp32", " ", "night"]})
        assert (told.json()["label"], told.json()["tags"]) == ("before", ["fp32", "night"])
    with served(capture) as server:
        (run,) = server.settled()
        assert (run["label"], run["tags"]) == ("before", ["fp32", "night"])
        server.client.put(f"/api/run/{run['id']}/label", json={})
        assert (server.runs()[0]["label"], server.runs()[0]["tags"]) == (None, [])


def test_a_label_does_not_undo_the_diagnosis(capture: Path) -> None:
    with served(capture) as server:
        path = server.ready()
        assert server.runs()[0]["verdict"] is None  # nobody has asked yet, and the list asks nobody
        diagnosis = server.client.get(f"{path}/diagnose?lang=en").json()["data"]
        server.client.put(f"{path}/label", json={"name": "named"})
        verdict = server.client.get("/api/runs?lang=zh").json()["runs"][0]["verdict"]
    accusing = [each for each in diagnosis["findings"] if each["severity"] in ("critical", "warning")]
    assert verdict == {
        "severity": diagnosis["verdict"]["severity"],
        "sentence": diagnosis["verdict"]["sentence"]["zh"],
        "findings": len(accusing),
        "period_us": diagnosis["period_us"],
    }


def test_the_period_of_a_diagnosis_is_the_mean_over_the_ranks(tmp_path: Path) -> None:
    with served(write_capture(tmp_path / "capture", [0, 1])) as server:
        path = server.ready()
        ranks = server.client.get(f"{path}/summary").json()["data"]["ranks"]
        told = server.client.get(f"{path}/diagnose").json()["data"]["period_us"]
    assert len(ranks) == 2
    assert told == pytest.approx((ranks[0]["period_us"] + ranks[1]["period_us"]) / 2)


def test_the_list_tells_when_a_run_was_recorded_and_how_large_it_is(capture: Path) -> None:
    with served(capture) as server:
        (run,) = server.settled()
        details = server.client.get(f"/api/run/{run['id']}").json()
    files = [path for path in capture.rglob("*") if path.is_file()]
    assert run["recorded_ns"] == details["origin_ns"]
    assert run["source_bytes"] == sum(path.stat().st_size for path in files)


def test_queries_are_kept_by_name_for_all_runs(capture: Path, tmp_path: Path) -> None:
    with served(capture) as server:
        client = server.client
        client.put("/api/queries", json={"name": "second", "query": "SELECT 2"})
        client.put("/api/queries", json={"name": "first", "query": "SELECT 0"})
        kept = client.put("/api/queries", json={"name": "first", "query": "SELECT 1"}).json()
        assert kept == [{"name": "first", "query": "SELECT 1"}, {"name": "second", "query": "SELECT 2"}]
        assert client.delete("/api/queries", params={"name": "second"}).status_code == 204
        assert client.get("/api/queries").json() == kept[:1]
        assert client.put("/api/queries", json={"name": "", "query": "SELECT 1"}).status_code == 422
    assert read_document(tmp_path / "workspace" / "shared.json")["queries"] == {"first": "SELECT 1"}


def test_views_belong_to_their_capture(capture: Path, tmp_path: Path) -> None:
    other = write_capture(tmp_path / "data" / "other", [0])
    with served(capture, other) as server:
        first, second = (f"/api/run/{run['id']}" for run in server.settled())
        view = {"name": "slow step", "page": "timeline", "params": {"rank": "0", "t": "10-20"}}
        assert server.client.put(f"{first}/views", json=view).json() == [view]
        assert server.client.get(f"{second}/views").json() == []
        assert server.client.delete(f"{first}/views", params={"name": "slow step"}).status_code == 204
        assert server.client.get(f"{first}/views").json() == []


def test_a_damaged_workspace_is_an_empty_one(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    damaged = {"labels": {"x": 3}, "queries": ["no"], "views": {str(capture.resolve()): {"a": 1, "b": {"page": 2}}}}
    save_document(tmp_path / "workspace" / "shared.json", damaged)
    with served(capture) as server:
        assert server.settled()[0]["label"] is None
        assert server.client.get("/api/queries").json() == []
        assert server.client.get(f"{server.ready()}/views").json() == []
