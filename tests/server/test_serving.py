"""A real server in a process of its own, under several clients at once."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from server.running import real_server
from stepscope.cli.view import view
from stepscope.errors import UsageError
from stepscope.server.serve import address, serve
from stepscope.server.settings import Settings
from support.limits import HANGS_AFTER_S
from support.mini_trace import write_rank


def _get(url: str, body: Any = None, headers: dict[str, str] | None = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    kind = {"Content-Type": "application/json"} if data else {}
    with urllib.request.urlopen(
        urllib.request.Request(url, data, {**kind, **(headers or {})}), timeout=HANGS_AFTER_S
    ) as answer:
        content: bytes = answer.read()
        return content


def _refusal(url: str, headers: dict[str, str] | None = None) -> int:
    with pytest.raises(urllib.error.HTTPError) as refused:
        _get(url, headers=headers)
    refused.value.close()
    return refused.value.code


def _ready(base: str) -> str:
    until = time.monotonic() + HANGS_AFTER_S
    while time.monotonic() < until:
        runs = json.loads(_get(f"{base}api/runs"))["runs"]
        if runs and all(run["state"] in ("ready", "waiting") for run in runs):
            return f"{base}api/run/{runs[0]['id']}"
        time.sleep(0.05)
    raise AssertionError("the run was not read")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.mktemp("serving")
    trace = write_rank(place / "trace.json", steps=20, operators=20)
    with real_server(str(trace), "--store", str(place / "store")) as address_of_server:
        yield address_of_server


def test_events_are_pushed_while_a_capture_is_read(base: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(f"{base}api/runs/events"), timeout=HANGS_AFTER_S) as stream:
        states: list[str] = []
        while not states or states[-1] != "ready":
            line = stream.readline().decode()
            if line.startswith("data: "):
                states.append(json.loads(line[6:])["runs"][0]["state"])
    assert states[-1] == "ready"


def test_ten_clients_at_once_get_the_answers_that_one_gets(base: str) -> None:
    keys = [{"rank": 0, "block": block, "level": level, "index": 0} for level in (10, 14) for block in (-1, 0)]
    questions: list[tuple[str, Any]] = [
        ("tracks?rank=0", None),
        ("tiles", {"tiles": keys}),
        ("search?q=mm", None),
        ("stats", {"from_ns": 0, "to_ns": 10**7, "rows": [{"rank": 0}]}),
        ("steps", None),
        ("sql", {"query": "SELECT count(*) AS n FROM slices"}),
        ("slice/0/5", None),
    ]
    run = _ready(base)

    def client(_: int) -> list[bytes]:
        return [_get(f"{run}/{path}", body) for path, body in questions]

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(client, range(10)))
    assert all(answer == answers[0] for answer in answers)
    assert client(0) == answers[0]
    assert _refusal(f"{run}/tracks", {"Host": "evil.example"}) == 403


def test_off_this_machine_a_token_is_made_up_and_printed(tmp_path: Path) -> None:
    with real_server(str(write_rank(tmp_path / "trace.json")), "--host", "0.0.0.0") as printed:
        place, token = printed.split("?token=")
        local = f"http://127.0.0.1:{place.rsplit(':', 1)[1]}"
        assert len(token) >= 32
        assert _refusal(f"{local}api/runs") == 401
        assert _get(f"{local}api/runs", headers={"Authorization": f"Bearer {token}"})


def test_on_this_machine_too_unless_told_otherwise(tmp_path: Path) -> None:
    with real_server(str(write_rank(tmp_path / "trace.json")), "--with-token") as printed:
        place, token = printed.split("?token=")
        assert len(token) >= 32
        assert _refusal(f"{place}api/runs") == 401
        assert _get(f"{place}api/runs", headers={"Authorization": f"Bearer {token}"})
    with real_server(str(tmp_path / "trace.json")) as printed:
        assert "token" not in printed
        assert _get(f"{printed}api/runs")


def test_other_machines_never_come_in_without_a_token(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        view([write_rank(tmp_path / "trace.json")], host="0.0.0.0", no_token=True)
    assert refused.value.code == "token_needed_elsewhere"


def test_a_port_in_use_is_a_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = Settings(roots=(), port=taken.getsockname()[1])
        with pytest.raises(UsageError, match="Cannot listen on port"):
            serve(settings, lambda _: None)


def test_a_path_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    command = "from stepscope.cli.view import view; view([__import__('pathlib').Path('nothing')], no_browser=True)"
    done = subprocess.run([sys.executable, "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "There is no file or directory nothing" in done.stderr


_SLOW = "import time, stepscope.server.library as library; library.load = lambda *_, **__: time.sleep(10**6); "


@pytest.mark.parametrize("before", ["", _SLOW], ids=["when all is read", "while a capture is read"])
def test_an_interrupt_ends_the_server_at_once_and_quietly(tmp_path: Path, before: str) -> None:
    command = f"{before}import typer; from stepscope.cli.view import view; typer.run(view)"
    arguments = [str(write_rank(tmp_path / "trace.json")), "--port", "0", "--no-browser", "--no-token"]
    with subprocess.Popen(
        [sys.executable, "-c", command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        _get(said[said.index("http") :].strip() + "api/runs")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=HANGS_AFTER_S)
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("host", "base_path", "token", "expected"),
    [
        ("127.0.0.1", "", None, "http://127.0.0.1:8080/"),
        ("::1", "/p", None, "http://[::1]:8080/p/"),
        ("10.0.0.1", "", "a&b", "http://10.0.0.1:8080/?token=a%26b"),
    ],
)
def test_the_address_that_is_printed_can_be_opened(host: str, base_path: str, token: str | None, expected: str) -> None:
    assert address(Settings(roots=(), host=host, base_path=base_path, token=token)) == expected
