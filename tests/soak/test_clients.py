"""Many clients on a large run (``make soak``): no errors, answers in time, and memory that does not grow."""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from server.running import real_server

pytestmark = pytest.mark.soak

CLIENTS = int(os.environ.get("STEPSCOPE_SOAK_CLIENTS", "50"))
SECONDS = float(os.environ.get("STEPSCOPE_SOAK_SECONDS", "180"))
MEGABYTES = int(os.environ.get("STEPSCOPE_SOAK_MEGABYTES", "500"))
THINKING_SECONDS = 2.0  # of a person before a page
MOST_BYTES = 1 << 30
MOST_P95_SECONDS = 2.0


def _ask(url: str, body: Any = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if data else {}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=600) as answer:
        content: bytes = answer.read()
        return content


def _question(dice: random.Random, slices: list[int]) -> tuple[str, Any]:
    tile = {"rank": 0, "block": dice.choice((-1, 0, 1)), "level": dice.randint(10, 24), "index": dice.randint(0, 3)}
    return dice.choice(
        [
            ("summary", None),
            ("steps", None),
            ("operators", None),
            ("launches", None),
            ("diagnose", None),
            ("tracks?rank=0", None),
            ("tiles", {"tiles": [tile]}),
            ("tiles", {"tiles": [tile]}),
            ("search?q=gemm", None),
            ("sql", {"query": "SELECT kind, count(*), sum(dur_ns) FROM slices GROUP BY kind"}),
            (f"slice/0/{dice.choice(slices)}", None),
        ]
    )


def _resident_bytes(mark: int) -> int:
    """Of the server with this mark, and of its children; what they have in common counts once."""
    by_parent: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    servers = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            command = (entry / "cmdline").read_bytes()
            held = re.search(r"^Pss:\s+(\d+)", (entry / "smaps_rollup").read_text(), re.MULTILINE)
        except OSError:
            continue
        pid = int(entry.name)
        by_parent.setdefault(int(fields[1]), []).append(pid)
        sizes[pid] = int(held[1]) << 10 if held else 0
        if f"soak-{mark}".encode() in command:
            servers.append(pid)
    members = set(servers)
    for pid in servers:
        members.update(by_parent.get(pid, []))
    return sum(sizes[pid] for pid in members)


def test_fifty_clients_on_a_large_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = os.environ.get("STEPSCOPE_SOAK_TRACE")
    trace = Path(ready) if ready else tmp_path / "trace.json"
    if not ready:
        monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
        from generate_kineto import write_trace

        write_trace(trace, megabytes=MEGABYTES)
    mark = random.randrange(10**9)
    with real_server(str(trace), "--store", str(tmp_path / f"soak-{mark}")) as base:
        while (run := json.loads(_ask(f"{base}api/runs"))["runs"][0])["state"] == "reading":
            time.sleep(0.5)
        assert run["state"] == "ready", run
        some = _ask(f"{base}api/run/{run['id']}/sql", {"query": "SELECT slice FROM slices LIMIT 200"})
        slices = [row["slice"] for row in json.loads(some)["data"]]
        until = time.monotonic() + SECONDS
        took: list[float] = []
        errors: list[str] = []

        def client(number: int) -> None:
            dice = random.Random(number)
            while time.monotonic() < until:
                path, body = _question(dice, slices)
                began = time.monotonic()
                try:
                    _ask(f"{base}api/run/{run['id']}/{path}", body)
                except OSError as error:
                    errors.append(f"{path}: {error}")
                took.append(time.monotonic() - began)
                time.sleep(dice.random() * 2 * THINKING_SECONDS)

        sizes = []
        with ThreadPoolExecutor(CLIENTS) as pool:
            clients = [pool.submit(client, number) for number in range(CLIENTS)]
            while time.monotonic() < until:
                time.sleep(SECONDS / 12)
                sizes.append(_resident_bytes(mark))
            for each in clients:
                each.result()
    p95 = statistics.quantiles(took, n=20)[18]
    late, early = max(sizes[-4:]), max(sizes[4:8])
    print(f"{len(took)} answers to {CLIENTS} clients in {SECONDS:.0f} s: {len(errors)} errors, p95 {p95:.2f} s,")
    print(f"memory {[size >> 20 for size in sizes]} MB")
    assert not errors, errors[:5]
    assert max(sizes) <= MOST_BYTES
    assert late <= 1.1 * early + (32 << 20), "memory grows"
    assert p95 <= MOST_P95_SECONDS
