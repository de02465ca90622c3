"""A PyTorch job is not harmed: it ends as it would without us, with its own output, exceptions and profiler.

Each script is a process of its own, because the faults that these tests guard against ended the process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stepscope
from support.limits import HANGS_AFTER_S

pytest.importorskip("torch")

_BEGIN = """
import os, sys, threading, torch
from stepscope.profiler import profile, schedule
torch.set_num_threads(1)
model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train():
    optimizer.zero_grad()
    model(torch.ones(8, 16)).sum().backward()
    optimizer.step()

def ours(name, **settings):
    return profile(output_path=os.path.join(sys.argv[1], name), **settings)
"""


def _steps(folder: Path) -> list[list[int]]:
    """Finished steps of the windows in a folder, by our own lines."""
    found = []
    for file in sorted(folder.glob("*/STEPSCOPE/steps.jsonl")):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        found.append([line["step"] for line in lines if line["event"] == "end"])
    return found


def _multiplications(folder: Path) -> int:
    """One in each step that was recorded."""
    run = stepscope.load(folder)
    return int(run.sql("SELECT count(*) AS n FROM slices WHERE name = 'aten::addmm'")["n"][0])


def _incomplete(folder: Path) -> list[Any]:
    return [json.loads(file.read_text())["incomplete"] for file in sorted(folder.glob("*/stepscope.json"))]


def test_a_window_that_opens_as_the_training_ends(tmp_path: Path, job: Any) -> None:
    script = f"""{_BEGIN}
def run(name, steps, **plan):
    with ours(name, schedule=schedule(**plan)) as prof:
        for _ in range(steps):
            train()
            prof.step()

run("at_once", 4, wait=0, active=2)
run("after_wait", 4, wait=1, active=2)
run("after_warmup", 10, wait=1, warmup=1, active=2)
run("never", 4, wait=0, active=2, repeat=1, skip_first=4)
train()
print("trained on", flush=True)
prof = ours("failed", schedule=schedule(wait=2, active=3, repeat=1))
try:
    for step in range(6):
        train()
        if step == 2:
            raise ValueError("the user's own")
        prof.step()
finally:
    prof.stop()
"""
    code, output, errors = job.run(script, str(tmp_path))
    assert (code, output) == (1, "trained on\n"), errors
    assert errors.rstrip().endswith("ValueError: the user's own")
    assert _steps(tmp_path / "at_once") == [[0, 1], [2, 3]]
    assert _steps(tmp_path / "after_wait") == [[1, 2]]
    assert _steps(tmp_path / "after_warmup") == [[2, 3], [6, 7]]
    assert _multiplications(tmp_path / "after_wait") == 2
    assert list((tmp_path / "never").iterdir()) == []


def test_pytorchs_own_profiler_has_the_same_trace_with_and_without_us(tmp_path: Path, job: Any) -> None:
    script = f"""{_BEGIN}
def own():
    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    ready = lambda prof: print(len(prof.events()), flush=True)
    with torch.profiler.profile(schedule=plan, on_trace_ready=ready) as theirs:
        for step in range(5):
            yield step
            train()
            theirs.step()

def through(steps):
    for _ in steps:
        pass

through(own())
with ours("around"):
    train()
    through(own())
with ours("steps", schedule=schedule(wait=0, warmup=1, active=1)) as prof:
    for _ in own():
        prof.step()
during = own()
next(during), next(during)  # theirs warms up
with ours("in_warm_up"):
    through(during)
with ours("beside", with_stack=True):
    thread = threading.Thread(target=through, args=(own(),))
    thread.start()
    thread.join()
    through(own())
with ours("after"):
    train()
"""
    code, output, errors = job.run(script, str(tmp_path))
    assert code == 0, errors
    alone, *others = output.split()
    assert int(alone) > 0
    assert others == [alone] * 5
    assert _incomplete(tmp_path / "around") == ["foreign_profiler"]
    assert _multiplications(tmp_path / "around") == 2, "before their warm-up began"
    for without in ("in_warm_up", "beside"):
        assert list((tmp_path / without).glob("*/STEPSCOPE/trace.json")) == []
    assert _multiplications(tmp_path / "after") == 1


def test_windows_that_end_in_another_thread_or_process_than_they_began(tmp_path: Path, job: Any) -> None:
    script = f"""{_BEGIN}
def elsewhere(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

begun = ours("begun_here", schedule=schedule(wait=0, active=1, repeat=2), with_stack=True)
def steps():
    for _ in range(3):
        train()
        begun.step()
elsewhere(steps)
begun.stop()
kept = []
def begin_and_leave():
    kept.append(ours("begun_there", with_stack=True, profile_memory=True))
    train()
elsewhere(begin_and_leave)
kept.pop().stop()
def all_of_it():
    with ours("all_there"):
        train()
elsewhere(all_of_it)
with ours("forked", with_stack=True):
    train()
    child = os.fork()
    if child == 0:
        train()
        sys.exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
left = ours("never_ended", with_stack=True)
elsewhere(left.stop)
print("done")
"""
    code, output, errors = job.run(script, str(tmp_path))
    assert (code, output) == (0, "3\ndone\n"), errors
    assert _multiplications(tmp_path / "forked") == 1
    assert "opened in one thread and ended in another" in errors
    assert _steps(tmp_path / "begun_here") == [[0], [1]]
    assert _multiplications(tmp_path / "begun_there") == 1
    assert _multiplications(tmp_path / "all_there") == 1


FORKING = """
import multiprocessing, os, torch
torch.set_num_threads(1)

def rank(number):
    os.environ.update(RANK=str(number), WORLD_SIZE="2")
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()

context = multiprocessing.get_context("fork")
ranks = [context.Process(target=rank, args=(number,)) for number in range(2)]
for process in ranks:
    process.start()
for process in ranks:
    process.join()
print([process.exitcode for process in ranks])
"""


@pytest.mark.parametrize("schedule", [["--skip-first", "0", "--warmup", "0", "--active", "2"], ["--all"]])
def test_forked_ranks_are_recorded_and_do_not_write_into_their_parents_window(
    schedule: list[str], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(FORKING)
    command = [sys.executable, "-m", "stepscope", "profile", "--no-parse", "-o", "out", *schedule]
    done = subprocess.run(
        [*command, "--", sys.executable, "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[0, 0]\n"), done.stderr
    for line in done.stderr.splitlines():
        if "tepscope" in line:
            assert line.startswith("[stepscope] Records ") or "  Next: stepscope diagnose " in line, "no warning"
    found = {}
    for window in (tmp_path / "out").iterdir():
        said = json.loads((window / "stepscope.json").read_text())
        assert said["state"] == "complete"
        optimizer_steps = (window / "STEPSCOPE" / "steps.jsonl").read_text().count('"optimizer",')
        found[said["rank"], said["identity_from"] == "none"] = optimizer_steps, _multiplications(window)
    # The first step is over before a rank is known as one.
    if "--active" in schedule:
        assert found == {(0, False): (0, 2), (1, False): (0, 2)}
    else:
        assert found == {(0, True): (0, 0), (0, False): (4, 4), (1, False): (4, 4)}
