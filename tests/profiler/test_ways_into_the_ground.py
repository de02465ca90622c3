"""Ways in which a recording once ended a training with SIGSEGV.

Kineto was still on when the interpreter ended; or a range that began in one recording ended in the next one, as the
range around an optimizer's step does where its hook ends one window and begins another (PyTorch's own profiler ends the
process then, too).
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

_BEGIN = """
import os, resource, shutil, sys, torch
from stepscope.profiler import profile, schedule
out = sys.argv[1]
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train():
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""
_END = """
print("trained", flush=True)
"""

NO_INODE = """
import errno
original = os.open

def no_inode(path, *how, **further):
    if str(path).endswith(".jsonl"):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))
    return original(path, *how, **further)

os.open = no_inode
prof = profile(output_path=out)
for _ in range(3):
    train()
prof.stop()
"""

IN_WARM_UP = """
with profile(output_path=out, schedule=schedule(wait=0, warmup=1, active=2)) as prof:
    train()
    {strike}
    prof.step()
    train()
"""
STRIKES = {
    "directory gone": "shutil.rmtree(out)",
    "no handle left": "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
}


def test_no_inode_for_a_stream_file(tmp_path: Path, job: Any) -> None:
    code, output, errors = job.run(_BEGIN + NO_INODE + _END, str(tmp_path / "out"))
    assert (code, output) == (0, "trained\n"), errors
    assert errors.count("StepscopeWarning") == 1
    assert "no space left on the disk" in errors


@pytest.mark.parametrize("strike", STRIKES)
def test_in_the_warm_up(strike: str, tmp_path: Path, job: Any) -> None:
    script = _BEGIN + IN_WARM_UP.format(strike=STRIKES[strike]) + _END
    code, output, errors = job.run(script, str(tmp_path / "out"))
    assert (code, output) == (0, "trained\n"), errors
    assert "StepscopeWarning" in errors, "it is said"


def test_the_device_is_in_error_when_the_recording_ends(tmp_path: Path, job: Any) -> None:
    """PyTorch waits for the device before it switches Kineto off; that fails after a kernel's assertion."""
    script = f"""{_BEGIN}
prof = profile(output_path=out)
train()

def failing(*args):
    raise RuntimeError("CUDA error: device-side assert triggered")

torch.autograd.profiler.profile.__exit__ = failing
prof.stop()
{_END}"""
    code, output, errors = job.run(script, str(tmp_path / "out"))
    assert (code, output) == (0, "trained\n"), errors
    assert "device-side assert" in errors


_WINDOWS = """
plan = schedule(wait=0, active=5, skip_first=3)
"""
IN_A_RANGE = """
with profile(output_path=out, schedule=plan) as prof:
    for _ in range(60):
        with torch.profiler.record_function("all"), torch.profiler.record_function("training step"):
            train()
            prof.step()
"""
AGES = """
import gc
with profile(output_path=out, schedule=schedule(wait=1, warmup=1, active=3)) as prof:
    for epoch in range(6):  # each epoch begins in one window and ends in another
        with torch.profiler.record_function("epoch"):
            gc.collect()
            for batch in range(9):
                train()
                prof.step()
"""
BESIDE_ANOTHER = """
import warnings
warnings.simplefilter("ignore")
theirs = torch.profiler.ProfilerActivity.CPU
for _ in range(5):
    with profile(output_path=out) as prof, torch.profiler.record_function("ours"):
        train()
        other = torch.profiler.profile(activities=[theirs])
        other.start()  # ours gives way
        for _ in range(5):
            train()
        inside = torch.profiler.record_function("theirs").__enter__()
        other.stop()
    with profile(output_path=out):
        train()
        inside.__exit__(None, None, None)
"""


@pytest.mark.parametrize("training", [IN_A_RANGE, AGES, BESIDE_ANOTHER], ids=["in a range", "epochs", "beside another"])
def test_a_range_that_is_open_as_a_window_ends(training: str, tmp_path: Path, job: Any) -> None:
    code, output, errors = job.run(_BEGIN + _WINDOWS + training + _END, str(tmp_path / "out"))
    assert (code, output) == (0, "trained\n"), errors


def test_windows_that_follow_each_other_in_the_hook_of_an_optimizer(tmp_path: Path, job: Any) -> None:
    plan = {"output_path": str(tmp_path / "out"), "analyse": False, "schedule": {"active": 2, "skip_first": 1}}
    script = """
    from stepscope.profiler.starting.environment import launched
    launched()
    """
    code, output, errors = job.run(
        textwrap.dedent(script) + _BEGIN + "for _ in range(41):\n    train()\n" + _END,
        str(tmp_path / "out"),
        STEPSCOPE_PROFILE=json.dumps(plan),
    )
    assert (code, output) == (0, "trained\n"), errors
    assert len(list((tmp_path / "out").iterdir())) == 20


def test_a_range_that_is_open_ends_with_its_window(tmp_path: Path, job: Any) -> None:
    training = """
with profile(output_path=out, schedule=schedule(wait=0, active=2, repeat=1)) as prof:
    for _ in range(2):
        outer = torch.profiler.record_function("outer").__enter__()
        inner = torch.profiler.record_function("inner").__enter__()
        train()
        prof.step()
"""
    code, _, errors = job.run(_BEGIN + training + _END, str(tmp_path / "out"))
    assert code == 0, errors
    (trace,) = (tmp_path / "out").glob("*/STEPSCOPE/trace.json")
    ends: dict[str, float] = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event.get("ph") == "X":
            ends[event["name"]] = max(event["ts"] + event["dur"], ends.get(event["name"], 0))
    assert ends["Optimizer.step#SGD.step"] <= ends["inner"] <= ends["outer"]
