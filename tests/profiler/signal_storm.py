"""A job whose alarm raises while our code runs, at random moments, again and again.

    python signal_storm.py SEED ROUNDS FOLDER

Prints as JSON how often the alarm raised, how often the job saw it, and what was not in order after a round.
"""

from __future__ import annotations

import gc
import json
import random
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from stepscope.profiler import mstx, profile, schedule
from stepscope.profiler.recording.window import Window


class OtherError(Exception):
    """One that only the job knows."""


KINDS = (
    TimeoutError,
    OtherError,
    RuntimeError,
    ValueError,
    FileNotFoundError,
    AttributeError,
    KeyboardInterrupt,
    SystemExit,
)


class Alarm:
    """Raises once in a round, and only inside the profiler."""

    def __init__(self) -> None:
        self.raised = 0
        self.is_set = False
        self.where: list[str] = []
        signal.signal(signal.SIGALRM, self)

    def set(self) -> None:
        """The round begins; the moment is anywhere between 30 µs and 50 ms from now."""
        self.is_set = True
        signal.setitimer(signal.ITIMER_REAL, 10 ** random.uniform(-4.5, -1.3))

    def unset(self) -> None:
        """It is over."""
        self.is_set = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self.is_set or frame is None:
            return
        if not _is_the_profilers(frame):
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 1e-3))
            return
        self.is_set = False
        self.raised += 1
        self.where.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
        raise KINDS[self.raised % len(KINDS)]("of the job")


def _is_the_profilers(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("stepscope.profiler"):
            return True
        frame = frame.f_back
    return False


torch.set_num_threads(1)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train() -> None:
    """One step."""
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()


def in_a_with_statement(folder: str) -> None:
    """Two windows with marks."""
    with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=2), output_path=folder, mstx=True) as prof:
        for _ in range(5):
            train()
            mstx.mark("mark")
            prof.step()


def without_a_schedule(folder: str) -> None:
    """The optimizer's hook is ours."""
    prof = profile(output_path=folder)
    try:
        for _ in range(3):
            train()
    finally:
        prof.stop()


def by_calls(folder: str) -> None:
    """Nobody ends it after an exception, but the collector."""
    prof = profile(output_path=folder, schedule=schedule(wait=1, active=2), start_profile=False)
    prof.start()
    for _ in range(4):
        train()
        prof.step()
    prof.stop()


def main() -> None:
    """All rounds, and a recording after them."""
    seed, rounds, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    random.seed(seed)
    alarm, seen, wrong = Alarm(), 0, []
    lost: list[str] = []
    # What Python's own start of a thread makes of an exception in its midst is not meant.
    sys.unraisablehook = lambda info: lost.append(repr(info.exc_value)) if "of the job" in str(info.exc_value) else None
    ways = (in_a_with_statement, without_a_schedule, by_calls)
    for number in range(rounds):
        try:
            alarm.set()
            ways[number % len(ways)](folder)
        except KINDS:
            seen += 1
        alarm.unset()
        gc.collect()
        if alarm.raised != seen + len(lost):
            wrong.append(f"round {number}: lost at {alarm.where[-1]}")
            break
        if torch.autograd._profiler_enabled() or Window.active is not None:
            wrong.append(f"round {number}: left on at {alarm.where[-1]}")
    with profile(output_path=f"{folder}/last"):
        train()
    (trace,) = Path(folder, "last").glob("*/STEPSCOPE/trace.json")
    told: dict[str, Any] = {"raised": alarm.raised, "seen": seen, "lost": lost, "wrong": wrong}
    print(json.dumps({**told, "operators": trace.read_text().count('"aten::addmm"')}), flush=True)


main()
