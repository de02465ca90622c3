"""A recording from outside has an end, however long the training is; what ends it early is said and leaves a whole
window."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.cli.profile import environment as launcher_environment
from stepscope.profiler import profile, schedule
from stepscope.profiler.recording.limits import Limits
from stepscope.profiler.recording.own_time import OwnTime
from stepscope.profiler.starting import bounded_run
from support.limits import HANGS_AFTER_S

_SOURCE = str(Path(stepscope.__file__).parents[1])

#: Steps that cost almost nothing; at the end it says how much memory it has had, and who still watches its optimizer.
TRAINING = """
import resource, sys, torch
steps, weights = int(sys.argv[1]), [torch.zeros(2, requires_grad=True)]
optimizer = torch.optim.SGD(weights, lr=0.1)
weights[0].grad = torch.ones(2)
for step in range(steps):
    optimizer.step()
from torch.optim.optimizer import _global_optimizer_post_hooks
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, "MB", weights[0][0].item())
"""


def _windows(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.rglob("stepscope.json"))


def _whole_steps(window: Path) -> list[int]:
    lines = [json.loads(line) for line in (window / "STEPSCOPE" / "steps.jsonl").read_text().splitlines()]
    return [line["step"] for line in lines if line["event"] == "end"]


def _description(window: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((window / "stepscope.json").read_text())
    return content


def _launch(folder: Path, *words: str, script: str = TRAINING, **environment: str) -> subprocess.Popen[str]:
    (folder / "train.py").write_text(script)
    split = words.index("--")
    command = [sys.executable, "-m", "stepscope", "profile", "--no-parse", "-o", str(folder / "out"), *words[:split]]
    return subprocess.Popen(
        [*command, "--", sys.executable, "-u", str(folder / "train.py"), *words[split + 1 :]],
        env={**os.environ, "PYTHONPATH": _SOURCE, "STEPSCOPE_LANG": "en", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _run(folder: Path, script: str, *words: str) -> str:
    """The output of a script without framework, which must end well."""
    (folder / "job.py").write_text(textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, str(folder / "job.py"), *words],
        env={**os.environ, "PYTHONPATH": _SOURCE, "STEPSCOPE_BACKEND": "plain"},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _said(errors: str) -> list[str]:
    return [line for line in errors.splitlines() if line.startswith("[stepscope]")]


def test_ten_thousand_steps_leave_a_window_of_twenty(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    process = _launch(tmp_path, "--", "10000")
    output, errors = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 0, errors
    (window,) = _windows(tmp_path / "out")
    assert _whole_steps(window) == list(range(6, 26))
    size = sum(path.stat().st_size for path in window.rglob("*") if path.is_file())
    assert size < 5_000_000, "20 steps of a few operators each"
    megabytes, _, weight = output.split()
    assert int(megabytes) < 2_000
    assert float(weight) == pytest.approx(-1000, abs=0.1), "all steps were made"
    before, after = _said(errors)
    assert "Records 20 steps after the first 6" in before
    assert "60 s or 200 MB" in before
    assert "20 steps recorded in" in after
    assert str(window) in after


def test_after_the_window_nobody_watches_the_training(plain: None, tmp_path: Path) -> None:
    made = profile(
        schedule=schedule(wait=0, active=2, repeat=1, skip_first=1), output_path=str(tmp_path), start_profile=False
    )
    made.start()
    made.follow_optimizer()
    for _ in range(3):
        made._on_optimizer(0)
    assert not made.running
    made._on_optimizer(0)
    (window,) = _windows(tmp_path)
    assert _whole_steps(window) == [1, 2]


def test_a_hook_that_ends_inside_its_own_call_disturbs_no_other(plain: None, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from torch.optim.optimizer import _global_optimizer_post_hooks, register_optimizer_step_post_hook

    from stepscope.profiler.backends.torch import TorchBackend
    from stepscope.profiler.settings.profile_settings import Settings

    before = len(_global_optimizer_post_hooks)
    calls: list[str] = []

    def on_step(optimizer: int) -> None:
        del optimizer
        calls.append("ours")
        end()

    end = TorchBackend(Settings()).watch_optimizer(on_step)
    theirs = register_optimizer_step_post_hook(lambda *args: calls.append("theirs"))
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    optimizer.step()
    optimizer.step()
    theirs.remove()
    assert calls == ["ours", "theirs", "theirs"]
    end()
    assert len(_global_optimizer_post_hooks) == before


def _plan(tmp_path: Path, limits: Limits, active: int = 100) -> Any:
    made = profile(schedule=schedule(wait=1, active=active, repeat=2), output_path=str(tmp_path), start_profile=False)
    made.limits = limits
    made.start()
    return made


@pytest.mark.parametrize(
    ("limits", "why"), [(Limits(seconds=1e-9), "time_limit"), (Limits(megabytes=1e-9), "size_limit")]
)
def test_a_window_over_its_limit_ends_with_its_step_and_none_follows(
    limits: Limits, why: str, plain: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("stepscope.profiler.recording.limits._LOOK_S", 1000)  # only the step asks
    made = _plan(tmp_path, limits)
    for _ in range(300):
        made.step()
    made.stop()
    (window,) = _windows(tmp_path)
    assert _whole_steps(window) == [1]
    assert (_description(window)["state"], _description(window)["incomplete"]) == ("complete", why)
    limit, last = _said(capsys.readouterr().err)
    assert "ends after 1 whole step;" in limit
    assert "1 step recorded" in last


def test_a_step_that_does_not_end_is_cut(plain: None, tmp_path: Path) -> None:
    made = _plan(tmp_path, Limits(seconds=0.05, cut_at=2))
    made.step()
    made.step()
    end = threading.Event()
    while made.running and not end.wait(0.01):  # the training is busy, and its step goes on
        pass
    (window,) = _windows(tmp_path)
    assert _whole_steps(window) in ([], [1])
    assert _description(window)["incomplete"] == "time_limit"
    assert stepscope.load(window).table("steps").collect().height >= 1


@pytest.mark.parametrize("given", [{"seconds": 0}, {"megabytes": "many"}, {"bytes": 3}])
def test_limits_that_cannot_be_used_are_named(given: dict[str, Any], said: list[str]) -> None:
    assert Limits.of(given) == Limits()
    assert "limits." in said[0]


def test_what_comes_in_the_middle_of_our_own_work_waits_for_its_end() -> None:
    own, done = OwnTime(), []
    with own, own:
        assert own.is_here
        own.when_free(lambda: done.append(own.is_here))
        assert done == []
    assert done == [False]


WITHOUT_STEPS = """
import sys, time
sys.path.insert(0, sys.argv[1])
from stepscope.layout import window_limits
window_limits.RECORDED_SECONDS = 0.3
from stepscope.profiler.starting import bounded_run
begin = bounded_run.record_time_without_steps
bounded_run.record_time_without_steps = lambda profile: begin(profile, 0.2)
import torch
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end and not __import__("glob").glob(sys.argv[3] + "/*/STEPSCOPE/trace.json"):
    torch.ones(10) + 1
if len(sys.argv) > 4:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    for _ in range(40):
        optimizer.step()
"""


@pytest.mark.parametrize("trains_later", [False, True])
def test_a_script_without_steps_is_recorded_for_a_time(trains_later: bool, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = str(tmp_path / "out")
    words = ["--", _SOURCE, str(HANGS_AFTER_S), out, *(["steps"] if trains_later else [])]
    process = _launch(tmp_path, *words, script=WITHOUT_STEPS)
    _, errors = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 0, errors
    windows = _windows(tmp_path / "out")
    assert "No optimizer step in" in errors
    assert len(windows) == 1 + trains_later
    run = stepscope.load(windows[0])
    assert "aten::add" in run.table("slices").collect()["name"].to_list()
    if trains_later:
        assert _whole_steps(windows[1]) == list(range(6, 26))


RANKS_OF_ITS_OWN = """
import sys, time
import torch
import torch.multiprocessing

def train(rank):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    for _ in range(40):
        optimizer.step()

if __name__ == "__main__":
    # as it is after a minute, while the ranks are at work: at once
    sys.path.insert(0, sys.argv[1])
    from stepscope.profiler.starting import bounded_run, environment
    children = torch.multiprocessing.spawn(train, nprocs=2, join=False)
    while not children.join(grace_period=None):
        pass
    profile = environment._Running.profile
    assert profile.running and profile.step_num == 0
    looks = bounded_run._NoSteps(profile, 0.1)
    looks._since_s -= 60
    looks._record()
"""


def test_a_process_that_starts_the_ranks_leaves_no_window_beside_theirs(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    process = _launch(tmp_path, "--", _SOURCE, script=RANKS_OF_ITS_OWN)
    _, errors = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 0, errors
    assert "No optimizer step in" not in errors
    assert [_whole_steps(window) for window in _windows(tmp_path / "out")] == [list(range(6, 26))] * 2


ONLY_WAITS = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
from stepscope.profiler.starting import bounded_run
begin = bounded_run.record_time_without_steps
bounded_run.record_time_without_steps = lambda profile: begin(profile, 0.2)
looked = threading.Semaphore(0)
process_time = time.process_time

def look():
    looked.release()
    return process_time()

time.process_time = look
import torch
for _ in range(6):
    looked.acquire()
if len(sys.argv) > 2:
    while not __import__("glob").glob(sys.argv[2] + "/*/stepscope.json"):
        torch.ones(10) + 1
"""


@pytest.mark.parametrize("works_later", [False, True])
def test_a_process_that_only_waits_is_recorded_when_it_does_something(works_later: bool, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    words = ["--", _SOURCE, *([str(tmp_path / "out")] if works_later else [])]
    process = _launch(tmp_path, *words, script=ONLY_WAITS)
    _, errors = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 0, errors
    assert ("No optimizer step in" in errors) == works_later
    assert len(_windows(tmp_path / "out")) == works_later


def test_a_script_that_ends_before_its_window_gets_advice(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    process = _launch(tmp_path, "--", "3")
    _, errors = process.communicate(timeout=HANGS_AFTER_S)
    assert not _windows(tmp_path / "out")
    assert "--skip-first 0, or --all" in errors


UNTIL_ENDED = """
import sys, time, torch
optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
for step in range(100_000):
    torch.ones(10) + 1
    optimizer.step()
    time.sleep(0.001)
    if step == 30:
        print("inside", flush=True)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, -signal.SIGINT)])
def test_a_signal_leaves_a_whole_window_and_says_where(number: signal.Signals, code: int, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    process = _launch(tmp_path, "--active", "90000", "--", script=UNTIL_ENDED)
    assert process.stdout is not None
    assert process.stdout.readline() == "inside\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == code, errors
    (window,) = _windows(tmp_path / "out")
    assert _description(window)["state"] == "complete"
    steps = _whole_steps(window)
    assert steps[:3] == [6, 7, 8]
    assert len(steps) >= 24
    run = stepscope.load(window)
    added = run.table("slices").collect().filter(name="aten::add")
    assert added.height >= len(steps)
    assert f"Next: stepscope diagnose {window}" in _said(errors)[-1]


def test_a_handler_of_the_jobs_own_stays_and_is_all_that_is_called(tmp_path: Path) -> None:
    script = """
    import os, signal, sys, time
    from stepscope.profiler import profile
    called = []
    def handler(number, frame):
        called.append(before)
        if callable(before):
            before(number, frame)
    before = None
    if sys.argv[2] == "before":
        signal.signal(signal.SIGTERM, handler)
    prof = profile(output_path=sys.argv[1])
    prof.step()
    if sys.argv[2] == "after":
        before = signal.signal(signal.SIGTERM, handler)
    os.kill(os.getpid(), signal.SIGTERM)
    assert len(called) == 1
    if prof.running:
        prof.stop()
    assert signal.getsignal(signal.SIGTERM) is handler
    print("goes on")
    """
    for when in ("before", "after"):
        assert _run(tmp_path, script, str(tmp_path / when), when) == "goes on\n"
        (window,) = _windows(tmp_path / when)
        assert _description(window)["state"] == "complete"


def test_a_forked_child_ends_by_the_signal_as_without_us(tmp_path: Path) -> None:
    script = """
    import os, signal, sys
    from stepscope.profiler import profile
    made = profile(output_path=sys.argv[1])
    for _ in range(20):
        child = os.fork()
        if child == 0:
            while True:
                signal.pause()
        os.kill(child, signal.SIGTERM)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
    made.stop()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    """
    assert _run(tmp_path, script, str(tmp_path / "out")) == ""
    (window,) = _windows(tmp_path / "out")
    assert _description(window)["state"] == "complete"


def test_the_launcher_hands_its_own_installation_on_for_parsing(tmp_path: Path, monkeypatch: Any) -> None:
    from stepscope.profiler.handover import parsing

    monkeypatch.setattr(parsing, "_state", parsing._State())
    monkeypatch.setattr(parsing, "parser_is_here", lambda: False)
    assert parsing._parser() is None
    parsing.parse_with(str(tmp_path / "gone"), "")
    assert parsing._parser() is None, "not in this container"
    parsing.parse_with(sys.executable, "/somewhere")
    monkeypatch.setenv("PYTHONHOME", "/the/jobs/own")
    found = parsing._parser()
    assert found is not None
    assert (found[0], found[1]["PYTHONPATH"]) == (sys.executable, "/somewhere")
    assert "PYTHONHOME" not in found[1]


def test_without_options_the_environment_alone_means_the_default_window() -> None:
    plan = bounded_run.plan_of({})
    assert plan.schedule is not None
    assert plan.schedule.to_dict() == {"wait": 0, "active": 20, "warmup": 1, "repeat": 1, "skip_first": 5}
    assert plan.limits == Limits(60, 200)
    assert bounded_run.plan_of({"all": True}).schedule is None
    assert "STEPSCOPE_PROFILE" in launcher_environment({})


def test_windows_without_an_end_are_announced_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    plan = bounded_run.plan_of({"schedule": {"active": 5, "skip_first": 3}})
    bounded_run.announce(plan, "out")
    assert "Records ∞ windows of 5 steps, the first one after 3 steps" in capsys.readouterr().err
