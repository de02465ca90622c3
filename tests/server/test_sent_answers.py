"""Answers that were sent before: worked out once, not sent to whoever still holds them, new where the run is new."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.running import Served, served


def _trace(*lengths_us: int) -> str:
    """Kernels of these lengths, each in a step of its own, and one without a time, which is noted."""
    events: list[dict[str, Any]] = [{"ph": "X", "cat": "kernel", "name": "timeless"}]
    for number, length in enumerate(lengths_us):
        at = 1000 * number
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "ts": at, "dur": 900})
        events.append({"ph": "X", "cat": "kernel", "name": "gemm", "ts": at + 10, "dur": length, "args": {"stream": 7}})
    return json.dumps({"traceEvents": [{"pid": 1, "tid": 1} | event for event in events]})


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_text(_trace(100, 200), "utf-8")
    return path


@pytest.fixture
def server(capture: Path, tmp_path: Path) -> Iterator[Served]:
    with served(capture, store=tmp_path / "store") as started:
        yield started


def test_an_answer_that_the_browser_holds_is_not_sent_again(server: Served) -> None:
    address = f"{server.ready()}/operators?integers=text"
    first = server.client.get(address)
    assert first.status_code == 200
    held = server.client.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert (held.status_code, held.content) == (304, b"")
    other = server.client.get(address, headers={"If-None-Match": '"another"'})
    assert (other.status_code, other.content) == (200, first.content)


def test_an_answer_is_worked_out_once(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"{server.ready()}/steps"
    first = server.client.get(address)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("worked out again")

    monkeypatch.setattr("stepscope.run.Run.ask", refuse)
    assert server.client.get(address).content == first.content


def test_every_language_has_its_own_answer(server: Served) -> None:
    address = f"{server.ready()}/summary"
    english, chinese = (server.client.get(address, headers={"Accept-Language": each}) for each in ("en", "zh"))
    assert english.headers["vary"] == "Accept-Language"
    assert [note["code"] for note in english.json()["notes"]] == [note["code"] for note in chinese.json()["notes"]]
    assert english.json()["data"] == chinese.json()["data"]
    assert english.json()["notes"][0]["message"] != chinese.json()["notes"][0]["message"]


def test_a_capture_that_was_read_again_is_asked_again(server: Served, capture: Path) -> None:
    run = server.ready()
    assert [row["count"] for row in server.client.get(f"{run}/operators").json()["data"]] == [2]
    capture.write_text(_trace(100, 200, 300), "utf-8")
    assert server.client.post(f"{run}/open").status_code == 202
    server.settled()
    assert [row["count"] for row in server.client.get(f"{run}/operators").json()["data"]] == [3]


def test_the_page_gets_large_integers_as_text_and_no_spaces(server: Served) -> None:
    run = server.ready()
    dense, printed = (server.client.get(f"{run}/operators", params={"integers": each}) for each in ("text", "number"))
    assert dense.json() == printed.json()
    assert dense.content == json.dumps(dense.json(), ensure_ascii=False, separators=(",", ":")).encode()
