"""Runs a piece of Python in a process of its own; CPU seconds and peak memory, its children included."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

_FRAME = """
import json, resource, sys, threading, time
peak = [0]
def watch():
    import os
    while True:
        total = 0
        pids = [os.getpid()]
        while pids:
            pid = pids.pop()
            try:
                with open(f"/proc/{{pid}}/status") as status:
                    total = max(total, next(int(line.split()[1]) for line in status if line.startswith("VmHWM")))
                with open(f"/proc/{{pid}}/task/{{pid}}/children") as children:
                    pids += map(int, children.read().split())
            except (OSError, StopIteration):
                pass
        peak[0] = max(peak[0], total)
        time.sleep(0.02)
threading.Thread(target=watch, daemon=True).start()
began = time.perf_counter()
{setup}
cpu = time.process_time()
children = resource.getrusage(resource.RUSAGE_CHILDREN)
wall = time.perf_counter()
{code}
after = resource.getrusage(resource.RUSAGE_CHILDREN)
print("\\n@@" + json.dumps({{
    "cpu_s": time.process_time() - cpu + after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime,
    "wall_s": time.perf_counter() - wall,
    "peak_mb": max(peak[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024,
    "result": globals().get("result"),
}}))
"""


@dataclass
class Measured:
    """``peak_mb`` is that of the largest single process."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    result: Any


def measure(code: str, setup: str = "", repeat: int = 1) -> Measured:
    """The best of some runs of ``code``; ``setup`` is not counted. A global named ``result`` comes back."""
    runs = []
    for _ in range(repeat):
        done = subprocess.run(
            [sys.executable, "-c", _FRAME.format(setup=setup, code=code)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2000:])
        runs.append(Measured(**json.loads(done.stdout.rsplit("@@", 1)[1])))
    return min(runs, key=lambda run: run.cpu_s)
