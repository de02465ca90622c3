"""Runs a piece of Python in a process of its own; CPU seconds and peak memory, its children included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

# The system keeps the peak of each process, so nothing needs to run beside what is measured.
_FRAME = """
import json, resource, time
{setup}
cpu = time.process_time()
children = resource.getrusage(resource.RUSAGE_CHILDREN)
wall = time.perf_counter()
{code}
after = resource.getrusage(resource.RUSAGE_CHILDREN)
print("\\n@@" + json.dumps({{
    "cpu_s": time.process_time() - cpu + after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime,
    "wall_s": time.perf_counter() - wall,
    "peak_mb": max(after.ru_maxrss, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024,
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
    # An installed package has its modules compiled; without this variable the first run does that.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", _FRAME.format(setup=setup, code=code)]
    runs = []
    for _ in range(repeat):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2000:])
        runs.append(Measured(**json.loads(done.stdout.rsplit("@@", 1)[1])))
    return min(runs, key=lambda run: run.cpu_s)
