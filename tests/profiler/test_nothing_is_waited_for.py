"""Nothing that hangs makes the training wait for ever: a stopped parser, a pipe instead of a config, a held lock."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from stepscope.profiler import DynamicProfilerMonitor
from stepscope.profiler.dynamic import board, network_files
from stepscope.profiler.dynamic.config import ConfigFile
from stepscope.profiler.dynamic.network_files import file_system_of, is_remote
from stepscope.profiler.dynamic.status import statuses
from stepscope.profiler.dynamic.trigger import ask
from support.limits import HANGS_AFTER_S

#: A parser that stops itself at once, as somebody's SIGSTOP would.
STOPPED = """#!/bin/sh
echo $$ >> "$STOPPED_PARSERS"
kill -STOP $$
"""

WINDOWS = """
import os, signal, sys
from stepscope.profiler import profile, schedule, tensorboard_trace_handler
from stepscope.profiler.handover import parsers, parsing
parsers._STANDSTILL_S = 1.0
parsing.parser_is_here = lambda: True
sys.executable = sys.argv[2]
handler = tensorboard_trace_handler(sys.argv[1], async_mode=sys.argv[3] == "beside")
with profile(schedule=schedule(wait=0, active=1, repeat=2), on_trace_ready=handler) as prof:
    for step in range(3):
        print(step, flush=True)
        prof.step()
print("trained", flush=True)
"""


@pytest.mark.parametrize("where", ["in the loop", "beside"])
def test_a_parser_that_is_stopped_holds_up_neither_the_loop_nor_the_exit(where: str, tmp_path: Path, job: Any) -> None:
    parser = tmp_path / "parser"
    parser.write_text(STOPPED)
    parser.chmod(0o755)
    started = tmp_path / "started"
    code, output, errors = job.run(
        WINDOWS, str(tmp_path / "out"), str(parser), where, STOPPED_PARSERS=str(started), STEPSCOPE_BACKEND="plain"
    )
    assert (code, output) == (0, "0\n1\n2\ntrained\n"), errors
    assert "did not get on and was ended" in errors
    assert "stepscope analyse" in errors
    if where == "in the loop":
        assert "no longer waits" in errors
        assert "is left as recorded" in errors, "the second window has no parser that would hang, too"
    for pid in started.read_text().split():
        assert not Path(f"/proc/{pid}").exists(), "none is left behind"


#: A parser that takes a moment, and notes its begin and its end.
BUSY = """#!/bin/sh
echo begin >> "$PARSERS"
sleep 0.2
echo end >> "$PARSERS"
"""

MANY_WINDOWS = """
import sys, time
from stepscope.profiler import profile, schedule, tensorboard_trace_handler
from stepscope.profiler.handover import parsers, parsing
parsing.parser_is_here = lambda: True
sys.executable = sys.argv[2]
handler = tensorboard_trace_handler(sys.argv[1], async_mode=True)
with profile(schedule=schedule(wait=0, active=1, repeat=6), on_trace_ready=handler) as prof:
    for step in range(6):
        prof.step()
until = time.monotonic() + float(sys.argv[3])
while (parsers._at_work.parsers or parsers._at_work.waiting) and time.monotonic() < until:
    time.sleep(0.01)
print("trained on", file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize("patience_s", [HANGS_AFTER_S, 0], ids=["long training", "training that ends at once"])
def test_windows_that_end_quickly_are_parsed_few_at_a_time(patience_s: float, tmp_path: Path, job: Any) -> None:
    parser, noted = tmp_path / "parser", tmp_path / "noted"
    parser.write_text(BUSY)
    parser.chmod(0o755)
    code, _, errors = job.run(
        MANY_WINDOWS, str(tmp_path / "out"), str(parser), str(patience_s), PARSERS=str(noted), STEPSCOPE_BACKEND="plain"
    )
    assert code == 0, errors
    events = noted.read_text().split()
    at_once = [events[: index + 1].count("begin") - events[:index].count("end") for index in range(len(events))]
    assert (events.count("end"), max(at_once)) == (6, 2)
    assert errors.count("[stepscope] Parsed ") == 6
    if patience_s:
        assert errors.index("trained on") > errors.rindex("Parsed"), "their end is told when it comes"


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "profiler_config.json"
    os.mkfifo(path)
    return path


def test_a_pipe_instead_of_a_config_is_not_waited_for(pipe: Path, plain: None, said: list[str]) -> None:
    monitor = DynamicProfilerMonitor(cfg_path=str(pipe.parent), output_path=str(pipe.parent / "out"))
    for _ in range(3):
        monitor.step()
    monitor.stop()
    assert [text for text in said if "not a regular file" in text]
    assert len(said) == 1


def test_a_directory_or_device_instead_of_a_config_is_an_error(tmp_path: Path, said: list[str]) -> None:
    (tmp_path / "profiler_config.json").symlink_to("/dev/zero")
    assert ConfigFile(tmp_path).read() is None
    assert "not a regular file" in said[0]


def test_the_trigger_replaces_a_pipe_and_reads_no_status_from_one(pipe: Path) -> None:
    os.mkfifo(pipe.parent / "profiler_status_host_1.json")
    assert statuses(pipe.parent) == []
    mark = ask(pipe.parent, steps=2)
    assert json.loads(pipe.read_text())["request"] == mark


def test_a_lock_that_a_stopped_rank_holds_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "_PATIENCE_S", 0.05)
    held = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(BlockingIOError):
        board.Board(tmp_path / "board", 0)
    os.close(held)
    board.Board(tmp_path / "board", 0).close()


def test_a_config_on_a_file_system_that_hangs_costs_no_step_and_not_the_exit(
    tmp_path: Path, plain: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the server of an NFS goes away: whoever asks waits, so only the thread beside the training asks."""
    gone = threading.Event()
    asked_by: set[str] = set()

    def hang(self: Any) -> bool:
        asked_by.add(threading.current_thread().name)
        gone.wait()
        return False

    monkeypatch.setattr("stepscope.profiler.dynamic.monitor.is_remote", lambda folder: True)
    monkeypatch.setattr("stepscope.profiler.dynamic.monitor._PATIENCE_AT_BEGIN_S", 0.1)
    monkeypatch.setattr("stepscope.profiler.dynamic.monitor._PATIENCE_AT_END_S", 0.1)
    monkeypatch.setattr(ConfigFile, "changed", hang)
    monitor = DynamicProfilerMonitor(cfg_path=str(tmp_path), output_path=str(tmp_path / "out"))
    for _ in range(100):
        monitor.step()
    monitor.stop()
    assert asked_by == {"stepscope-dynamic"}
    gone.set()


def test_what_the_thread_reads_for_the_status_file_is_still_news_to_the_training(tmp_path: Path) -> None:
    one = board.Board(tmp_path / "board", 0)
    one.write({"windows": []})
    assert one.read() == {"windows": []}
    assert one.advance(1), "not yet seen by the training"
    assert one.news() == {"windows": []}
    assert not one.advance(2)
    one.close()


def test_a_config_on_a_remote_file_system_is_followed(
    tmp_path: Path, plain: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.profiler.dynamic.monitor.is_remote", lambda folder: True)
    (tmp_path / "profiler_config.json").write_text(json.dumps({"start_step": 2, "stop_step": 3}))
    monitor = DynamicProfilerMonitor(cfg_path=str(tmp_path), output_path=str(tmp_path / "out"), poll_interval=1)
    end = time.monotonic() + HANGS_AFTER_S
    while not monitor._windows and time.monotonic() < end:
        time.sleep(0.01)
        monitor._arrive(1)
    for _ in range(4):
        monitor.step()
    monitor.stop()
    assert [window.directory.parent.name for window in monitor.windows] == ["rank0_start2_stop3"]


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:40 / /home/my\\040data rw shared:2 - nfs4 server:/export rw,vers=4.2
31 22 0:41 / /mnt/s3 rw - fuse.s3fs s3fs rw
32 22 0:42 / /mnt/s3/local rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "remote"),
    [
        ("/home/me/config", "ext4", False),
        ("/home/my data/config", "nfs4", True),
        ("/home/my database", "ext4", False),
        ("/mnt/s3/config", "fuse.s3fs", True),
        ("/mnt/s3/local/config", "tmpfs", False),
    ],
)
def test_remote_file_systems_are_known_by_their_names(
    path: str, kind: str, remote: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert file_system_of(path, MOUNTS) == kind
    (tmp_path / "mountinfo").write_text(MOUNTS)
    monkeypatch.setattr(network_files, "_MOUNTS", tmp_path / "mountinfo")
    assert is_remote(Path(path)) is remote
