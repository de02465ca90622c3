"""Nothing breaks the training: faults become one warning each, and what was recorded is kept."""

from __future__ import annotations

import errno
import json
import shutil
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.profiler import mstx, profile, schedule
from stepscope.profiler.backends import Backend
from stepscope.profiler.foundation.guard import remedy
from stepscope.profiler.foundation.line_files import LineStream
from support.limits import HANGS_AFTER_S

LOOP = """
import os, sys, time
{imports}
from stepscope.profiler import mstx, profile, schedule, tensorboard_trace_handler, ExperimentalConfig
handler = tensorboard_trace_handler(sys.argv[1], analyse_flag=False)
plan = schedule(wait=0, warmup=1, active=3)
with profile(schedule=plan, on_trace_ready=handler, experimental_config=ExperimentalConfig(mstx=True)) as prof:
    for step in range(100):
        number = mstx.range_start("work")
        {work}
        time.sleep(0.03)
        mstx.range_end(number)
        print(step, flush=True)
        if step == int(sys.argv[2]):
            time.sleep(1000)
        prof.step()
"""


def _loop(torch: bool = False) -> str:
    return LOOP.format(imports="import torch" if torch else "", work="torch.ones(10).sum()" if torch else "pass")


def _until(process: Any, step: int) -> None:
    for line in process.stdout:
        if int(line) == step:
            return
    raise AssertionError(process.stderr.read())


def _windows(where: Path) -> list[Path]:
    return sorted(where.iterdir(), key=lambda directory: directory.name)


def test_after_kill_in_the_third_window_two_are_whole_and_the_third_has_its_stream(tmp_path: Path, job: Any) -> None:
    pytest.importorskip("torch")
    process = job.start(_loop(torch=True), str(tmp_path / "out"), "10")
    _until(process, 10)  # windows are steps 1-3, 5-7, 9-11
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=HANGS_AFTER_S)
    first, second, third = _windows(tmp_path / "out")
    for directory, expected in ((first, [1, 2, 3]), (second, [5, 6, 7])):
        run = stepscope.load(directory)
        assert run.table("steps").collect()["step"].to_list() == expected
        assert "aten::sum" in run.table("slices").collect()["name"].to_list()
        assert run.notes == []
    run = stepscope.load(third)
    steps = run.table("steps").collect()
    assert steps.filter(~pl.col("incomplete"))["step"].to_list() == [9]
    assert steps["incomplete"].to_list()[-1]
    codes = {note.code for note in run.notes}
    assert {"capture_cut_off", "operators_lost"} <= codes
    marks = run.table("slices").filter(pl.col("name") == "work").collect()
    assert marks.height >= 2
    assert run.table("memory").collect().height > 0
    assert stepscope.load(tmp_path / "out").ranks == [0], "the folder as a whole opens too"


def test_an_exception_inside_a_window_flushes_it_and_stays_the_users(tmp_path: Path, plain: None) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        profile(schedule=schedule(wait=1, active=5), output_path=str(tmp_path)) as prof,
    ):
        prof.step()
        mstx.mark("before")
        raise ZeroDivisionError
    run = stepscope.load(tmp_path)
    assert run.table("steps").collect().select("step", "incomplete").rows() == [(1, True)]
    assert "before" in run.table("slices").collect()["name"].to_list()


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
@pytest.mark.parametrize("step", [0, 1, 3])
def test_after_a_failure_no_schedule_is_to_blame(
    step: int, error: type[BaseException], tmp_path: Path, plain: None, said: list[str]
) -> None:
    plan = schedule(wait=1, warmup=1, active=5, repeat=1)  # step 0 waits, 1 warms up, 3 records
    with pytest.raises(error), profile(schedule=plan, output_path=str(tmp_path)) as prof:
        for _ in range(step):
            prof.step()
        raise error
    (text,) = said
    assert "Make " not in text, "advice on the schedule"
    expected = {0: "failed or was interrupted before", 1: "nothing was recorded", 3: "is kept"}
    assert expected[step] in text
    assert len(prof.windows) == (step == 3)


def test_a_generator_that_is_left_early_and_an_exit_are_no_failures(
    tmp_path: Path, plain: None, said: list[str]
) -> None:
    def batches() -> Iterator[int]:
        with profile(schedule=schedule(wait=0, active=5), output_path=str(tmp_path / "generator")) as prof:
            for batch in range(9):
                yield batch
                prof.step()

    for batch in batches():
        if batch == 3:
            break
    with (
        pytest.raises(SystemExit),
        profile(schedule=schedule(wait=0, active=7), output_path=str(tmp_path / "exit")) as prof,
    ):
        prof.step()
        sys.exit()
    first, second = said
    assert "ended inside a window: 3 of 5 steps" in first
    assert "ended inside a window: 1 of 7 steps" in second


@pytest.mark.parametrize("plan", [None, {"wait": 0, "active": 9}, {"wait": 0, "warmup": 1, "active": 9}])
def test_a_profile_inside_another_is_reported_once(
    plan: dict[str, int] | None, tmp_path: Path, plain: None, said: list[str]
) -> None:
    inner_plan = None if plan is None else schedule(**plan)
    said.clear()
    with profile(output_path=str(tmp_path / "outer")) as outer:
        with profile(schedule=inner_plan, output_path=str(tmp_path / "inner")) as inner:
            for _ in range(3):
                inner.step()
        outer.step()
    assert (len(outer.windows), inner.windows) == (1, [])
    (text,) = said
    assert "End that one first, or remove one of the two" in text
    assert str(outer.windows[0].directory) in text


@pytest.mark.parametrize("ending", ["sys.exit(3)", "raise KeyError('mine')", "pass"])
def test_the_end_of_the_interpreter_inside_a_window_flushes_it(tmp_path: Path, job: Any, ending: str) -> None:
    script = f"""
    import sys
    from stepscope.profiler import mstx, profile, schedule
    prof = profile(schedule=schedule(wait=0, active=5), output_path=sys.argv[1])
    mstx.mark("here")
    prof.step()
    mstx.mark("here")
    {ending}
    """
    code, _, errors = job.run(script, str(tmp_path / "out"))
    assert code == {"sys.exit(3)": 3, "pass": 0}.get(ending, 1)
    assert ("mine" in errors) == ("mine" in ending)
    run = stepscope.load(tmp_path / "out")
    assert run.table("steps").collect().select("step", "incomplete").rows() == [(0, False), (1, True)]
    assert run.sql("SELECT count(*) AS n FROM slices WHERE name = 'here'")["n"][0] == 2
    assert run.notes == []


def test_operators_are_flushed_at_the_end_of_the_interpreter_too(tmp_path: Path, job: Any) -> None:
    pytest.importorskip("torch")
    script = """
    import sys, torch
    from stepscope.profiler import profile, schedule
    prof = profile(schedule=schedule(wait=0, active=5), output_path=sys.argv[1])
    torch.ones(10)
    prof.step()
    torch.ones(10)
    raise KeyError
    """
    code, _, errors = job.run(script, str(tmp_path / "out"))
    assert (code, "KeyError" in errors) == (1, True)
    run = stepscope.load(tmp_path / "out")
    assert run.sql("SELECT count(*) AS n FROM slices WHERE name = 'aten::ones'")["n"][0] == 2


def test_a_terminated_job_saves_its_window_and_ends_by_the_signal(tmp_path: Path, job: Any) -> None:
    process = job.start(_loop(), str(tmp_path / "out"), "2")
    _until(process, 2)
    process.terminate()
    process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == -signal.SIGTERM
    run = stepscope.load(tmp_path / "out")
    assert run.table("steps").collect().select("step", "incomplete").rows() == [(1, False), (2, True)]
    (described,) = (tmp_path / "out").glob("*/stepscope.json")
    content = json.loads(described.read_text())
    assert (content["state"], content["incomplete"]) == ("complete", "terminated")


def test_a_forked_child_neither_ends_nor_doubles_its_parents_window(tmp_path: Path, job: Any) -> None:
    script = """
    import os, sys
    from stepscope.profiler import mstx, profile, schedule
    with profile(schedule=schedule(wait=0, active=2, repeat=1), output_path=sys.argv[1]) as prof:
        child = os.fork()
        mstx.mark("child" if child == 0 else "parent")
        prof.step()
        if child == 0:
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        prof.step()
    """
    code, _, errors = job.run(script, str(tmp_path / "out"))
    assert code == 0, errors
    (directory,) = (tmp_path / "out").iterdir()
    run = stepscope.load(directory)
    assert run.table("steps").collect()["step"].to_list() == [0, 1]
    assert run.table("slices").filter(pl.col("kind") == "mark").collect()["name"].to_list() == ["parent"]


def test_a_directory_that_cannot_be_made_costs_one_warning(tmp_path: Path, plain: None, said: list[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    with profile(schedule=schedule(wait=0, active=1), output_path=str(tmp_path / "file" / "out")) as prof:
        for _ in range(5):
            prof.step()
    assert prof.windows == []
    assert prof.step_num == 5
    assert len(said) == 1
    assert "NotADirectoryError" in said[0]
    assert "Choose another directory" in said[0]


@pytest.mark.parametrize("place", ["{}", "/proc/nothing/here"])
def test_a_file_in_the_way_or_a_place_that_cannot_be_is_named_with_its_remedy(
    place: str, tmp_path: Path, plain: None, said: list[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    with profile(output_path=place.format(tmp_path / "file")) as prof:
        prof.step()
    assert prof.windows == []
    assert len(said) == 1
    assert "Choose another directory" in said[0]


def test_a_full_disk_silences_a_stream_with_one_warning(said: list[str]) -> None:
    stream = LineStream(Path("/dev/full"))
    for number in range(3):
        stream.write({"line": number})
    assert len(said) == 1
    assert "no space left" in said[0]


def test_a_full_disk_is_one_warning_however_many_files_it_hits(
    tmp_path: Path, plain: None, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, line: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.write", full)
        with profile(schedule=schedule(wait=0, active=2), output_path=str(tmp_path)) as prof:
            for _ in range(4):
                mstx.mark("m")
                prof.step()
    assert len(said) == 1
    assert "no space left" in said[0]


def test_no_window_is_opened_where_there_is_no_room_for_one(
    tmp_path: Path, plain: None, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with profile(schedule=schedule(wait=0, active=1), output_path=str(tmp_path)) as prof:
        for _ in range(5):
            prof.step()
    assert list(tmp_path.iterdir()) == []
    assert len(said) == 1


def test_a_job_that_turns_warnings_into_errors_is_not_stopped(tmp_path: Path, job: Any) -> None:
    script = """
    import sys, warnings
    warnings.simplefilter("error")
    from stepscope.profiler import profile
    with profile(output_path=sys.argv[1], with_stack=3) as prof:
        prof.start()
    print("done")
    """
    code, output, errors = job.run(script, str(tmp_path / "out"))
    assert (code, output) == (0, "done\n")
    assert "with_stack" in errors
    assert "running already" in errors


class Failing(Backend):
    """A backend that fails in one place."""

    def __init__(self, settings: Any, where: str, error: Exception) -> None:
        super().__init__(settings)

        def fail(*args: object) -> None:
            raise error

        setattr(self, where, fail)


@pytest.mark.parametrize("where", ["prepare", "start", "begin_step", "end_step", "stop", "save", "describe"])
def test_a_backend_that_fails_anywhere_costs_one_warning_and_its_data_only(
    where: str, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from stepscope.profiler import backends

    error = RuntimeError("the framework said no")
    monkeypatch.setattr(backends, "choose", lambda settings: Failing(settings, where, error))
    with profile(schedule=schedule(wait=0, warmup=1, active=2, repeat=1), output_path=str(tmp_path)) as prof:
        for _ in range(5):
            mstx.mark("alive")
            prof.step()
    assert len(said) == 1
    assert "the framework said no" in said[0]
    marks = (prof.windows[0].directory / "STEPSCOPE" / "marks.jsonl").read_text().splitlines()
    assert len(marks) == 2
    lines = (prof.windows[0].directory / "STEPSCOPE" / "steps.jsonl").read_text().splitlines()
    steps = [json.loads(line)["step"] for line in lines]
    assert steps == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "another directory"),
        (MemoryError(), "fewer steps"),
        (OSError(errno.EROFS, "Read-only file system"), "read-only"),
        (OSError(errno.EACCES, "Permission denied"), "may write"),
        (RuntimeError("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES in init"), "NVreg_RestrictProfilingToAdminUsers"),
        (RuntimeError("Found no NVIDIA driver on your system"), "no accelerator"),
        (ImportError("libascendcl.so: cannot open shared object file"), "versions of CANN"),
        (RuntimeError("CUDA out of memory. Tried to allocate"), "profile_memory"),
    ],
)
def test_known_failures_are_named_with_their_remedy(error: Exception, words: str) -> None:
    from stepscope.profiler.foundation.messages import sentence

    assert words in sentence(remedy(error), lang="en", what="x", reason="y")


def test_two_jobs_in_one_folder_do_not_meet(tmp_path: Path, job: Any) -> None:
    script = """
    import sys, time
    from stepscope.profiler import profile, schedule, tensorboard_trace_handler
    handler = tensorboard_trace_handler(sys.argv[1], worker_name="same", analyse_flag=False)
    with profile(schedule=schedule(wait=0, active=2, repeat=3), on_trace_ready=handler) as prof:
        for _ in range(6):
            time.sleep(0.01)
            prof.step()
    """
    jobs = [job.start(script, str(tmp_path / "out")) for _ in range(2)]
    for process in jobs:
        _, errors = process.communicate(timeout=HANGS_AFTER_S)
        assert process.returncode == 0, errors
    assert len(_windows(tmp_path / "out")) == 6


def test_a_name_that_is_taken_is_not_written_into(tmp_path: Path, plain: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from stepscope.layout import names

    stamps = iter(["1" * 17, "1" * 17, "2" * 17])
    monkeypatch.setattr(names, "timestamp", lambda moment: next(stamps))
    for _ in range(2):
        with profile(output_path=str(tmp_path)):
            pass
    assert sorted(directory.name.split("_")[-3] for directory in tmp_path.iterdir()) == ["1" * 17, "2" * 17]


def test_a_script_that_changes_its_directory_keeps_its_captures_together(
    tmp_path: Path, plain: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with profile(schedule=schedule(wait=0, active=1, repeat=2), output_path="out") as prof:
        prof.step()
        monkeypatch.chdir(tmp_path / "elsewhere")
        prof.step()
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_a_machine_without_a_thread_left_costs_the_samples_only(
    tmp_path: Path, plain: None, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with profile(output_path=str(tmp_path)) as prof:
            mstx.mark("there")
            prof.step()
    run = stepscope.load(tmp_path)
    assert "there" in run.table("slices").collect()["name"].to_list()
    assert len(said) == 1
    assert "new thread" in said[0]


def test_a_recording_whose_directory_was_removed_is_not_announced_as_one(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with profile(schedule=schedule(wait=0, active=2, repeat=1), output_path=str(out)) as prof:
            shutil.rmtree(out)
            prof.step()
            prof.step()
    said = capsys.readouterr().err
    assert "is lost" in said
    assert "stepscope diagnose" not in said
