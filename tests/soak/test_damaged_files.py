"""Damaged files of all formats (``make soak``), in counted rounds: read, or refused with a sentence, at a bounded cost.

Each round damages one file of one capture and reads it; some go on to ask every question. A file that was only cut off
may not lose rows in silence. Rounds run in batches, each batch in a process of its own, so that one that hangs or
crashes is named and the others go on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import pytest

import stepscope
from soak.damaged_rounds import Outcome

pytestmark = pytest.mark.soak

ROUNDS = int(os.environ.get("STEPSCOPE_SOAK_ROUNDS", "100000"))
FIRST = int(os.environ.get("STEPSCOPE_SOAK_FIRST", "0"))
WORKERS = int(os.environ.get("STEPSCOPE_SOAK_WORKERS", "0")) or os.cpu_count() or 1
BATCH = 1000
_SCRIPT = Path(__file__).with_name("damaged_rounds.py")
_PATH = os.pathsep.join(map(str, (_SCRIPT.parents[1], Path(stepscope.__file__).parents[1])))


def test_damaged_captures_are_read_or_refused() -> None:
    last = FIRST + ROUNDS
    counts: Counter[str] = Counter()
    faults: dict[str, Outcome] = {}
    slowest = largest = 0.0
    with ThreadPoolExecutor(WORKERS) as pool:
        batches = [pool.submit(_outcomes, first, min(BATCH, last - first)) for first in range(FIRST, last, BATCH)]
        for batch in as_completed(batches):
            for outcome in batch.result():
                counts.update((outcome.result, "rounds"))
                counts.update(cut=outcome.cut_rows, asked=outcome.asked)
                slowest, largest = max(slowest, outcome.seconds), max(largest, outcome.bytes)
                if outcome.fault:
                    counts["faults"] += 1
                    if faults.setdefault(outcome.fault, outcome) is outcome:
                        print(outcome, flush=True)
            print(f"{dict(counts)}, slowest {slowest:.1f} s, largest {int(largest) >> 20} MB, {[*faults]}", flush=True)
    assert counts["rounds"] == ROUNDS
    assert not faults, "\n".join(map(str, faults.values()))


def _outcomes(first: int, count: int) -> list[Outcome]:
    """Of these rounds, with a new process behind each one that ended its own."""
    outcomes: list[Outcome] = []
    while len(outcomes) < count:
        next_round = first + len(outcomes)
        command = [sys.executable, str(_SCRIPT), str(next_round), str(count - len(outcomes))]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": _PATH}, capture_output=True, text=True, check=False
        )
        outcomes += _told(done.stdout)
        if done.returncode != 0:
            reason = signal.Signals(-done.returncode).name if done.returncode < 0 else f"exit code {done.returncode}"
            number = first + len(outcomes)
            outcomes.append(Outcome(number, "failed", "", fault=f"{reason} in round {number}", details=done.stderr))
    return outcomes


def _told(lines: str) -> Iterator[Outcome]:
    """A process that dies may leave half a line."""
    for line in lines.splitlines(keepends=True):
        if line.endswith("\n"):
            yield Outcome(**json.loads(line))
