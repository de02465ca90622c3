"""The list of runs: reading in the background, opening by path, dropping files, and what goes wrong on the way."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import stepscope.run
from readers import ascend_builder
from readers.ndtimeline.test_records import write_records
from server.running import served
from stepscope.server import library as library_module
from stepscope.server.uploads import safe_name
from support.limits import HANGS_AFTER_S
from support.mini_trace import write_capture, write_rank, write_unreadable


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_capture(tmp_path / "data" / "capture", [0])


def test_captures_at_the_roots_are_read_and_described(tmp_path: Path) -> None:
    capture = write_capture(tmp_path / "capture", [0, 1])
    with served(capture) as server:
        (run,) = server.settled()
        assert (run["state"], run["ranks"], run["steps"], run["error"]) == ("ready", 2, 2, None)
        assert run["path"] == str(capture)
        details = server.client.get(server.ready()).json()
        assert details["summary"] == server.runs()[0]
        assert [rank["rank"] for rank in details["rank_list"]] == [0, 1]
        assert details["step_list"] == [0, 1]
        assert details["tables"]["slices"] == run["slices"] > 20
        assert details["origin_ns"] == str(1_700_000_000_123_456_789 + 125)


def test_reading_goes_on_in_the_background_with_progress(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, go_on = threading.Event(), threading.Event()
    really_load = stepscope.run.load

    def slow(path: Path, *, progress: Any, **options: Any) -> Any:
        progress(40, 100)
        reached.set()
        assert go_on.wait(20)
        return really_load(path, progress=progress, **options)

    monkeypatch.setattr(library_module, "load", slow)
    with served(capture) as server:
        assert reached.wait(20)
        (run,) = server.runs()
        assert (run["state"], run["progress"]) == ("reading", {"done_bytes": 40, "total_bytes": 100})
        asked = server.client.get(f"/api/run/{run['id']}/tracks")
        assert (asked.status_code, asked.json()["code"]) == (409, "run_not_ready")
        assert asked.json()["hint"]
        go_on.set()
        assert server.settled()[0]["state"] == "ready"


def test_changes_are_pushed_to_whoever_listens(capture: Path) -> None:
    with served(capture) as server:
        server.ready()
        revision = server.client.get("/api/runs").json()["revision"]
        server.client.post(f"{server.ready()}/open")
        server.settled()
        assert server.client.get("/api/runs").json()["revision"] > revision


def test_other_windows_of_a_directory_wait_to_be_asked_for(tmp_path: Path) -> None:
    for place, name in enumerate(("first", "second")):
        trace = write_rank(tmp_path / "windows" / f"{name}.json", steps=place + 1)
        os.utime(trace, (1_700_000_000 + place,) * 2)  # which of them is the newer one
    with served(tmp_path / "windows") as server:
        newest, other = server.settled()
        assert (newest["window"], newest["state"]) == ("second", "ready")
        assert (other["window"], other["state"], other["slices"]) == ("first", "waiting", None)
        assert server.client.post(f"/api/run/{other['id']}/open").status_code == 202
        assert [run["state"] for run in server.settled()] == ["ready", "ready"]
        assert [run["steps"] for run in server.runs()] == [2, 1]


def test_a_capture_that_cannot_be_read_says_why_in_both_languages(tmp_path: Path) -> None:
    with served(write_unreadable(tmp_path / "bad.json", 0)) as server:
        (run,) = server.settled()
        assert (run["state"], run["error"]["code"]) == ("failed", "no_events")
        asked = server.client.get(f"/api/run/{run['id']}/tracks", headers={"Accept-Language": "zh-CN,zh"})
        assert asked.status_code == 422
        assert "没有任何" in asked.json()["message"]
        write_rank(tmp_path / "bad.json")
        server.client.post(f"/api/run/{run['id']}/open")
        assert server.settled()[0]["state"] == "ready"


def test_one_unreadable_rank_does_not_hide_the_others(tmp_path: Path) -> None:
    capture = write_capture(tmp_path / "capture", [0, 1])
    write_unreadable(capture / "rank1.json", 1, world_size=2)
    with served(capture) as server:
        assert server.settled()[0]["ranks"] == 1
        notes = server.client.get(f"{server.ready()}?lang=zh").json()["notes"]
        assert [note["code"] for note in notes] == ["rank_unreadable"]


def test_a_run_is_opened_by_path_below_a_root(capture: Path, tmp_path: Path) -> None:
    with served(tmp_path / "data") as server:
        server.settled()
        for path in (str(capture / "rank0.json"), "capture/rank0.json"):
            opened = server.client.post("/api/runs", json={"path": path})
            assert opened.status_code == 202, opened.text
        assert len(server.settled()) == 2
        assert server.runs()[1]["ranks"] == 1


def test_a_run_has_the_same_id_after_a_restart(capture: Path) -> None:
    ids = []
    for _ in range(2):
        with served(capture) as server:
            ids.append(server.settled()[0]["id"])
    assert ids[0] == ids[1]


def test_a_removed_run_leaves_the_list_and_nothing_else(capture: Path) -> None:
    before = {file: file.read_bytes() for file in capture.rglob("*") if file.is_file()}
    with served(capture) as server:
        run = server.ready()
        assert server.client.delete(run).status_code == 204
        assert server.runs() == []
        assert server.client.get(run).json()["code"] == "no_such_run"
        assert server.client.delete(run).status_code == 404
    assert {file: file.read_bytes() for file in capture.rglob("*") if file.is_file()} == before


def test_a_dropped_file_is_read_and_its_copy_removed_in_the_end(tmp_path: Path, isolated_store: Path) -> None:
    trace = write_rank(tmp_path / "trace.json").read_bytes()
    (tmp_path / "empty").mkdir()
    with served(tmp_path / "empty") as server:
        server.settled()
        for body, name in ((trace, "my trace.json"), (gzip.compress(trace), "other.json.gz")):
            sent = server.client.post("/api/runs/upload", params={"name": name}, content=body)
            assert sent.status_code == 202, sent.text
        runs = [run for run in server.settled() if run["uploaded"]]
        assert [(run["state"], run["path"]) for run in runs] == [("ready", "my trace.json"), ("ready", "other.json.gz")]
        assert server.client.get(f"/api/run/{runs[0]['id']}/tracks").json()["ranks"][0]["slices"] == runs[0]["slices"]
        assert str(isolated_store) not in json.dumps(server.runs())
        server.client.delete(f"/api/run/{runs[0]['id']}")
        assert len([file for file in (isolated_store / "uploads").rglob("*") if file.is_file()]) == 1
    assert [file for file in (isolated_store / "uploads").rglob("*") if file.is_file()] == []


def test_a_file_dropped_twice_is_one_run(tmp_path: Path) -> None:
    trace = write_rank(tmp_path / "data" / "trace.json").read_bytes()
    with served(tmp_path / "data") as server:
        for _ in range(2):
            server.client.post("/api/runs/upload", params={"name": "again.json"}, content=trace)
        assert sum(run["uploaded"] for run in server.settled()) == 1


def test_a_file_that_is_too_large_or_empty_is_refused_and_not_kept(tmp_path: Path, isolated_store: Path) -> None:
    with served(write_rank(tmp_path / "trace.json"), most_upload_bytes=1000) as server:
        server.settled()
        refused = server.client.post("/api/runs/upload", params={"name": "a.json"}, content=b"x" * 1001)
        assert (refused.status_code, refused.json()["code"]) == (413, "upload_too_large")
        empty = server.client.post("/api/runs/upload", params={"name": "a.json"}, content=b"")
        assert (empty.status_code, empty.json()["code"]) == (422, "empty_file")
        assert [file for file in (isolated_store / "uploads").rglob("*") if file.is_file()] == []
        assert len(server.runs()) == 1


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\trace.json", "trace.json"),
        ("<script>alert(1)</script>.json", "script_.json"),
        ("..", "capture"),
        ("a\0b\n.json", "a_b_.json"),
        ("跟踪.json", "跟踪.json"),
        ("x" * 400 + ".json", "x" * 145 + ".json"),
    ],
)
def test_names_of_dropped_files_are_made_harmless(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_a_capture_deleted_under_the_server_still_answers_and_says_so_when_opened(capture: Path) -> None:
    with served(capture) as server:
        run = server.ready()
        shutil.rmtree(capture)
        assert server.client.get(f"{run}/tracks").status_code == 200
        server.client.post(f"{run}/open")
        (listed,) = server.settled()
        assert (listed["state"], listed["error"]["code"]) == ("failed", "no_such_path")
        assert server.client.get(f"{run}/steps").status_code == 200


def test_a_store_deleted_under_the_server_is_made_again(capture: Path, isolated_store: Path) -> None:
    with served(capture) as server:
        run = server.ready()
        for entry in isolated_store.iterdir():
            shutil.rmtree(entry, ignore_errors=True)  # the server may be at work in it already
        for question in ("steps", "slice/0/3"):
            asked = server.client.get(f"{run}/{question}")
            assert asked.status_code == 200, asked.text
        asked = server.client.post(f"{run}/sql", json={"query": "SELECT count(*) FROM slices"})
        assert asked.status_code == 200, asked.text
        server.client.post(f"{run}/open")
        assert server.settled()[0]["state"] == "ready"
        assert server.client.get(f"{run}/steps").status_code == 200


def test_a_small_capture_does_not_wait_for_a_large_one_and_reading_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small = write_rank(tmp_path / "large.json"), write_rank(tmp_path / "small.json")
    begun, stopped = threading.Event(), threading.Event()
    whole = stepscope.run.load

    def slow(path: Path, **others: Any) -> Any:
        if path.name != "large.json":
            return whole(path, **others)
        try:
            while True:
                begun.set()
                others["progress"](1, 2)
                time.sleep(0.01)
        finally:
            stopped.set()

    monkeypatch.setattr(library_module, "load", slow)
    with served(large, small) as server:
        assert begun.wait(HANGS_AFTER_S)
        until = time.monotonic() + HANGS_AFTER_S
        while "ready" not in (states := [run["state"] for run in server.runs()]):
            assert time.monotonic() < until, states
            time.sleep(0.02)
        (waiting,) = [run for run in server.runs() if run["state"] == "reading"]
        assert server.client.delete(f"/api/run/{waiting['id']}").status_code == 204
        assert stopped.wait(HANGS_AFTER_S)
        assert [run["path"] for run in server.runs()] == [str(small)]


def test_a_link_out_of_the_roots_is_not_read(tmp_path: Path) -> None:
    secret = write_rank(tmp_path / "private" / "rank1.json", 1, world_size=2)
    root = write_capture(tmp_path / "root", [0])
    (root / "rank1.json").symlink_to(secret)
    with served(root) as server:
        details = server.client.get(server.ready()).json()
        assert [rank["rank"] for rank in details["rank_list"]] == [0]
        assert "link_not_followed" in {note["code"] for note in details["notes"]}
    (root / "rank0.json").unlink()
    with served(root) as server:
        (run,) = server.settled()
        assert (run["state"], run["error"]["code"]) == ("failed", "nothing_to_read")


def test_what_belongs_to_a_file_that_was_named_alone_is_read_but_no_link_beside_it(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    records = write_records(tmp_path / "root")
    meta = next(path for path in records.parent.iterdir() if path.suffix == ".yaml")
    with served(records) as server:
        assert [run["state"] for run in server.settled()] == ["ready"]
    elsewhere = meta.rename(tmp_path / meta.name)
    meta.symlink_to(elsewhere)
    with served(records) as server:
        assert [run["state"] for run in server.settled()] == ["failed"]


def test_a_file_inside_a_capture_that_was_named_alone_stands_for_the_capture(tmp_path: Path) -> None:
    rank = ascend_builder.write_rank(tmp_path, ascend_builder.full_capture())
    with served(rank / "profiler_info_0.json") as server:
        assert [run["state"] for run in server.settled()] == ["ready"]


def test_dropped_files_are_their_owners_alone(isolated_store: Path, capture: Path) -> None:
    with served(capture) as server:
        server.client.post("/api/runs/upload?name=a.json", content=(capture / "rank0.json").read_bytes())
        server.settled()
        uploads = [isolated_store / "uploads", *(isolated_store / "uploads").rglob("*")]
        assert len(uploads) == 3
        assert [path.stat().st_mode & 0o077 for path in uploads] == [0, 0, 0]
