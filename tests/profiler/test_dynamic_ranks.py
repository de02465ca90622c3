"""Dynamic profiling on several ranks: all record the same steps, jobs do not meet, and nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

import stepscope
from support.limits import HANGS_AFTER_S

_SOURCE = str(Path(stepscope.__file__).parents[1])

#: Ranks that run freely, at different speeds; each says when it stands at a step, and which steps it recorded.
RANK = """
import json, os, sys, time
from stepscope.profiler import DynamicProfilerMonitor
folder, steps, pace = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
monitor = DynamicProfilerMonitor(os.path.join(folder, "cfg"), os.path.join(folder, "out"), poll_interval=1)
print("ready", flush=True)
for step in range(1, steps + 1):
    time.sleep(pace)
    monitor.step()
    print(step, flush=True)
"""


class Job:
    """Ranks of one job as processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "cfg").mkdir(exist_ok=True)
        self.script = folder / "rank.py"
        self.script.write_text(textwrap.dedent(RANK))
        self.ranks: list[subprocess.Popen[str]] = []

    def start(self, rank: int, world: int, steps: int, pace: float, **environment: str) -> subprocess.Popen[str]:
        names = {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank), "MASTER_PORT": "29512"}
        process = subprocess.Popen(
            [sys.executable, str(self.script), str(self.folder), str(steps), str(pace)],
            env={**os.environ, "PYTHONPATH": _SOURCE, "TMPDIR": str(self.folder), **names, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.ranks.append(process)
        return process

    def ask(self, **values: Any) -> None:
        (self.folder / "cfg" / "profiler_config.json").write_text(json.dumps(values))

    def finish(self) -> None:
        for process in self.ranks:
            _, errors = process.communicate(timeout=HANGS_AFTER_S)
            assert process.returncode in (0, -signal.SIGKILL), errors


def _until(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout is not None
    for found in process.stdout:
        if found.strip() == line:
            return
    raise AssertionError(process.stderr.read() if process.stderr else "")


def _recorded(out: Path) -> dict[str, list[int]]:
    found = {}
    for folder in sorted(out.iterdir()):
        for window in folder.iterdir():
            lines = [json.loads(line) for line in (window / "STEPSCOPE" / "steps.jsonl").read_text().splitlines()]
            found[folder.name] = [line["step"] for line in lines if line["event"] == "end"]
    return found


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def job(tmp_path: Path) -> Any:
    made = Job(tmp_path)
    yield made
    for process in made.ranks:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_ranks_of_different_speed_agree_on_steps_that_none_has_begun(job: Job, tmp_path: Path) -> None:
    job.ask(start_step=-1, stop_step=-1)
    paces = (0.004, 0.006, 0.005)
    ranks = [job.start(rank, 3, 400, pace) for rank, pace in enumerate(paces)]
    for process in ranks:
        _until(process, "ready")
    assert [_children(process.pid) for process in ranks] == [[], [], []], "nobody forks a monitor"
    _until(ranks[1], "20")
    job.ask(start_step=-1, stop_step=-1, next_steps=3, request="a")
    time.sleep(0.5)
    job.ask(start_step=2, stop_step=390)  # long since begun: what is left of it
    job.finish()
    found = _recorded(tmp_path / "out")
    windows = {name.partition("_")[2] for name in found}
    assert len(windows) == 2
    assert len(found) == 6, "three ranks, two windows each"
    for name, steps in found.items():
        start, stop = (int(part.removeprefix("start").removeprefix("stop")) for part in name.split("_")[1:])
        assert steps == list(range(start, stop + 1))
    short = [steps for steps in found.values() if len(steps) == 3]
    assert len(short) == 3
    assert short[0][0] > 21, "not before the request"
    assert not list(tmp_path.glob("stepscope-*/dynamic-*")), "the last rank takes the board away"


def test_another_rank_leads_when_the_leader_is_killed(job: Job, tmp_path: Path) -> None:
    job.ask(start_step=-1, stop_step=-1)
    first = job.start(0, 2, 2000, 0.005)
    _until(first, "ready")
    second = job.start(1, 2, 600, 0.005)
    _until(second, "ready")
    first.send_signal(signal.SIGKILL)
    first.wait()
    time.sleep(1.2)
    job.ask(next_steps=2, request="after")
    job.finish()
    (steps,) = _recorded(tmp_path / "out").values()
    assert len(steps) == 2
    assert len(list((tmp_path / "cfg").glob("profiler_status_*"))) == 1, "that of the killed one was taken away"


def test_a_killed_process_is_gone_before_its_parent_has_asked_for_it() -> None:
    from stepscope.profiler.dynamic.board import process_started

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert process_started(process.pid) > 0
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is still to be asked for
        assert Path(f"/proc/{process.pid}").exists()
        assert process_started(process.pid) == 0


def test_a_job_that_was_killed_leaves_nothing_to_the_next(job: Job, tmp_path: Path) -> None:
    job.ask(start_step=300, stop_step=301)
    doomed = [job.start(rank, 2, 2000, 0.005) for rank in range(2)]
    for process in doomed:
        _until(process, "3")
        process.send_signal(signal.SIGKILL)
    for process in doomed:
        process.wait()
    assert list(tmp_path.glob("stepscope-*/dynamic-*")), "its board is still there, with a window agreed"
    job.ask(start_step=-1, stop_step=-1)
    for rank in range(2):
        job.start(rank, 2, 310, 0.001)
    job.finish()
    assert not (tmp_path / "out").exists(), "the next job was not profiled by the request to the one before"


def test_two_jobs_in_one_folder_follow_the_config_each_by_itself(job: Job, tmp_path: Path) -> None:
    job.ask(start_step=-1, stop_step=-1)
    slow = job.start(0, 2, 60, 0.02, MASTER_PORT="1")
    fast = job.start(0, 2, 400, 0.003, MASTER_PORT="2")
    for process in (slow, fast):
        _until(process, "ready")
    _until(fast, "50")
    job.ask(next_steps=2, request="x")
    job.finish()
    windows = sorted(steps for steps in _recorded(tmp_path / "out").values())
    assert len(windows) == 2, "each job has its own window"
    assert windows[0][0] < 45, "the slow job's own next steps"
    assert windows[1][0] > 50, "the fast job's own"


def test_without_a_folder_to_share_a_rank_goes_alone_and_says_so(job: Job, tmp_path: Path) -> None:
    (tmp_path / f"stepscope-{os.getuid()}").symlink_to(tmp_path)
    job.ask(start_step=2, stop_step=3)
    process = job.start(0, 2, 6, 0.001)
    _, errors = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 0
    assert "each follows the config by itself" in errors
    assert _recorded(tmp_path / "out") == {"rank0_start2_stop3": [2, 3]}


def test_a_forked_child_is_not_the_training(tmp_path: Path) -> None:
    script = """
    import os, sys
    from stepscope.profiler import DynamicProfilerMonitor
    monitor = DynamicProfilerMonitor(sys.argv[1], sys.argv[2])
    monitor.step()                       # step 2 is being recorded
    child = os.fork()
    for _ in range(10):
        monitor.step()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """
    (tmp_path / "cfg").mkdir()
    (tmp_path / "cfg" / "profiler_config.json").write_text(json.dumps({"start_step": 2, "stop_step": 4}))
    (tmp_path / "fork.py").write_text(textwrap.dedent(script))
    command = [sys.executable, str(tmp_path / "fork.py"), str(tmp_path / "cfg"), str(tmp_path / "out")]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": _SOURCE}, check=True, timeout=HANGS_AFTER_S)
    assert _recorded(tmp_path / "out") == {"rank0_start2_stop4": [2, 3, 4]}


def test_a_rank_that_cannot_be_told_from_the_dead_takes_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose start is unknown would look alive to the others for ever after it is gone."""
    from stepscope.profiler.dynamic import board

    handles = len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as patch:
        patch.setattr(board, "process_started", lambda pid: 0)
        with pytest.raises(OSError, match="started"):
            board.Board(tmp_path / "board", 0)
        alone = board.Board(None, 0)
    assert len(list(Path("/proc/self/fd").iterdir())) == handles
    assert [entry.rank for entry in alone.places()] == [0]
    alone.close()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    one = board.Board(tmp_path / "board", 1)
    one._words[one._slot + 8] = gone.pid  # the next slot: as one without its start was left behind
    assert [entry.rank for entry in one.places()] == [1]
    one.close()
    assert not (tmp_path / "board").exists()


def test_ranks_read_whole_agreements_only(tmp_path: Path) -> None:
    from stepscope.profiler.dynamic.board import Board

    writer, reader = Board(tmp_path / "board", 0), Board(tmp_path / "board", 1)
    assert writer.lead()
    assert not reader.lead()
    assert reader.read() == {}
    writer.write({"a": "x" * 1000})
    assert reader.advance(1)
    assert reader.news() == {"a": "x" * 1000}
    assert not reader.advance(2)
    writer._words[1] += 1  # killed while it wrote
    assert reader.advance(3)
    assert reader.news() is None
    assert not reader.advance(4), "it does not try again at each step"
    assert [(place.rank, place.step) for place in reader.places()] == [(0, 0), (1, 4)]
    with pytest.raises(ValueError, match="too large"):
        writer.write({"a": "x" * 100_000})
    writer.close()
    assert reader.lead()
    assert reader.read() == {}
    reader.close()
    assert not (tmp_path / "board").exists()
