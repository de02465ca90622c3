"""A server for tests: in this process, or a real one in a process of its own."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from stepscope.server.app import create_app, new_library
from stepscope.server.page import PAGE_DIRECTORY
from stepscope.server.settings import Settings
from support.limits import HANGS_AFTER_S

_COMMAND = "import typer; from stepscope.cli.view import view; typer.run(view)"


@dataclass
class Served:
    client: TestClient

    def runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.get("/api/runs").json()["runs"]
        return found

    def settled(self) -> list[dict[str, Any]]:
        """The list of runs once nothing is being read."""
        until = time.monotonic() + HANGS_AFTER_S
        while any(run["state"] == "reading" for run in self.runs()):
            assert time.monotonic() < until, self.runs()
            time.sleep(0.02)
        return self.runs()

    def ready(self) -> str:
        """The address of the first run, once it is ready."""
        first = self.settled()[0]
        assert first["state"] == "ready", first
        return f"/api/run/{first['id']}"


@contextlib.contextmanager
def served(
    *roots: Path, client: tuple[str, int] = ("127.0.0.1", 5000), page: Path = PAGE_DIRECTORY, **settings: Any
) -> Iterator[Served]:
    """The application, with its captures being read."""
    library = new_library(Settings(roots=tuple(root.resolve() for root in roots), **settings))
    app = create_app(library, page)
    with TestClient(app, base_url="http://127.0.0.1:8080", client=client, follow_redirects=False) as test_client:
        yield Served(test_client)


@contextlib.contextmanager
def real_server(*arguments: str) -> Iterator[str]:
    """``stepscope view`` in a process of its own; its address. Without a token, unless --with-token is given."""
    open_to_all = [] if {"--host", "--token", "--with-token"} & set(arguments) else ["--no-token"]
    wanted = [each for each in arguments if each != "--with-token"]
    command = [sys.executable, "-c", _COMMAND, *wanted, *open_to_all, "--port", "0", "--no-browser", "--lang", "en"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, said + process.stdout.read()
        yield found.group()
    finally:
        process.terminate()
        process.wait(timeout=HANGS_AFTER_S)
        if process.stdout is not None:
            process.stdout.close()
