"""Signals while our code runs: what the job's handlers raise reaches the job, and the recording stays in order."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.limits import HANGS_AFTER_S

pytest.importorskip("torch")

_STORM = Path(__file__).with_name("signal_storm.py")

READY_BUT_UNKNOWN = """
import os, signal, sys, torch
import torch.autograd.profiler as theirs
from pathlib import Path
from stepscope.profiler import profile, schedule

class Stop(Exception):
    pass

def stop(number, frame):
    raise Stop

def strike(frame, event, called):
    if event == "c_return" and frame.f_code.co_filename.endswith("torch_session.py"):
        if called.__name__ in ("extend", "_prepare_profiler"):
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGUSR1)

ended = []
end = theirs._disable_profiler
theirs._disable_profiler = lambda: ended.append(1) or end()
signal.signal(signal.SIGUSR1, stop)
plan = schedule(wait=0, warmup=1, active=1, repeat=1)
sys.setprofile(strike)
try:
    with profile(schedule=plan, output_path=sys.argv[1]):
        print("not seen")
except Stop:
    print("seen", len(ended))
with profile(output_path=sys.argv[1]):
    torch.ones(3).exp()
(trace,) = Path(sys.argv[1]).glob("*/STEPSCOPE/trace.json")
print(trace.read_text().count('"aten::exp"'))
"""

CALLS_OF_SIGNAL = """
import signal, sys, torch
from stepscope.profiler import profile, schedule

called = set()
def note(frame, event, argument):
    if event == "call" and frame.f_code.co_filename == signal.__file__:
        called.add(frame.f_code.co_name)

sys.setprofile(note)
with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=1), output_path=sys.argv[1], mstx=True) as prof:
    for _ in range(3):
        torch.ones(3).exp()
        prof.step()
sys.setprofile(None)
print(sorted(called))
"""


def _said(script: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_kineto_that_is_ready_when_a_handler_raises_is_ended_and_can_be_had_again(tmp_path: Path) -> None:
    assert _said(READY_BUT_UNKNOWN, tmp_path) == ["seen 1", "1"]


def test_functions_of_signal_that_lose_a_value_error_of_the_job_are_not_used(tmp_path: Path) -> None:
    assert _said(CALLS_OF_SIGNAL, tmp_path) == ["[]"]


@pytest.mark.parametrize(
    ("seed", "rounds"),
    [(1, 45), *(pytest.param(seed, 400, marks=pytest.mark.soak) for seed in range(2, 8))],
)
def test_what_an_alarm_raises_at_any_moment_is_seen_by_the_job(seed: int, rounds: int, tmp_path: Path) -> None:
    command = [sys.executable, str(_STORM), str(seed), str(rounds), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_AFTER_S * 4, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["wrong"] == []
    # Python itself drops what is raised in a destructor; the others reach the job, every one.
    assert told["seen"] == told["raised"] - len(told["lost"])
    assert len(told["lost"]) <= told["raised"] / 50
    assert told["raised"] > rounds / 2
    assert told["operators"] == 1, "the recording after them is whole"
