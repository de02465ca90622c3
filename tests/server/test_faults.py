"""What nobody expected fails one request or one capture, never the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from server.running import served
from stepscope import cli
from stepscope.run import Run
from stepscope.server import library
from support.mini_trace import write_rank


class Panic(BaseException):
    """As Polars raises it: no ``Exception``."""


Panic.__name__ = "PanicException"


@pytest.mark.parametrize("kind", [Panic, IndexError, OSError])
def test_a_question_that_fails_is_answered_and_the_next_one_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise kind("index out of bounds")

    with served(write_rank(tmp_path / "trace.json")) as server:
        run = server.ready()
        with monkeypatch.context() as patch:
            patch.setattr(Run, "ask", fails)
            failed = server.client.get(f"{run}/summary")
        assert (failed.status_code, failed.json()["code"]) == (500, "internal")
        assert "index out of bounds" in failed.json()["message"]
        assert server.client.get(f"{run}/summary").status_code == 200


def test_a_panic_while_a_capture_is_read_does_not_stop_the_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panics(*_: Any, **__: Any) -> Any:
        raise Panic("called `Option::unwrap()` on a `None` value")

    with monkeypatch.context() as patch:
        patch.setattr(library, "load", panics)
        with served(write_rank(tmp_path / "trace.json")) as server:
            (failed,) = server.settled()
            assert (failed["state"], failed["error"]["code"]) == ("failed", "internal")
            patch.undo()
            assert server.client.post(f"/api/run/{failed['id']}/open").status_code == 202
            assert server.settled()[0]["state"] == "ready"


def test_a_panic_is_no_traceback_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def panics() -> None:
        raise Panic("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr(cli, "_built", panics)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 70
    assert "Option::unwrap" in capsys.readouterr().err


def test_a_store_damaged_under_a_running_server_is_made_again(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with served(write_rank(tmp_path / "trace.json"), store=store) as server:
        run = server.ready()
        expected = server.client.get(f"{run}/operators").json()["data"]
        for path in store.rglob("*.parquet"):
            path.write_bytes(path.read_bytes()[:-9] + b"\xff" * 9)
        query = {"query": "SELECT count(*) AS slices FROM slices"}
        assert server.client.post(f"{run}/sql", json=query).status_code == 200
        assert server.client.get(f"{run}/operators").json()["data"] == expected
