"""Any Python loop: steps, marks and samples, recorded and read back."""

from __future__ import annotations

import json
import operator
import os
import threading
import time
from pathlib import Path

import polars as pl
import pytest

import stepscope
from stepscope.profiler import (
    ExperimentalConfig,
    ProfilerLevel,
    mstx,
    profile,
    schedule,
    tensorboard_trace_handler,
)
from support.limits import HANGS_AFTER_S

pytestmark = pytest.mark.usefixtures("plain")


def _loop(where: Path, steps: int = 9, **switches: object) -> tuple[Path, list[tuple[int, int]]]:
    """Record steps 2 to 6 of a loop; the window's directory, and each step by the loop's own clock."""
    clock = []
    handler = tensorboard_trace_handler(str(where), worker_name="w", analyse_flag=False)
    with profile(schedule=schedule(wait=1, warmup=1, active=5, repeat=1), on_trace_ready=handler, **switches) as prof:  # type: ignore[arg-type]
        for _ in range(steps):
            began = time.time_ns()
            number = mstx.range_start("sleep", domain="loop")
            time.sleep(0.05)
            mstx.range_end(number, domain="loop")
            mstx.mark("done")
            clock.append((began, time.time_ns()))
            prof.step()
    (directory,) = where.iterdir()
    return directory, clock


def test_the_directory_is_the_documented_one(tmp_path: Path) -> None:
    directory, _ = _loop(tmp_path)
    worker, timestamp, suffix = directory.name.split("_", 2)[0], directory.name.split("_")[2], directory.name[-9:]
    assert (worker, len(timestamp), suffix) == ("w", 17, "ascend_pt")
    assert directory.name.split("_")[1] == str(os.getpid())
    assert {entry.name for entry in directory.iterdir()} == {
        "STEPSCOPE",
        "logs",
        "profiler_info_0.json",
        "stepscope.json",
    }
    assert json.loads((directory / "profiler_info_0.json").read_text())["rank_id"] == 0
    assert json.loads((directory / "stepscope.json").read_text())["state"] == "complete"
    assert oct(directory.stat().st_mode & 0o777) == "0o750"


def test_steps_are_those_of_the_loops_own_clock(tmp_path: Path) -> None:
    directory, clock = _loop(tmp_path)
    steps = stepscope.load(directory).table("steps").collect()
    assert steps["step"].to_list() == [2, 3, 4, 5, 6]
    assert not steps["incomplete"].any()
    recorded = (steps["host_end_ns"] - steps["host_start_ns"]).to_list()
    own = [ended - began for began, ended in clock[2:7]]
    # A step lies around what the loop times; where nothing came between, they are the same.
    assert min(map(operator.truediv, recorded, own)) == pytest.approx(1, rel=0.01)
    assert all(ours <= began for ours, (began, _) in zip(steps["host_start_ns"], clock[2:7], strict=True))


def test_steps_in_which_nothing_is_recorded_are_timed(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(str(tmp_path), worker_name="w", analyse_flag=False)
    lengths = [
        0.2,
        0.2,
        0.02,
        0.05,
        0.08,
        0.11,
        0.3,
        0.01,
        0.01,
    ]  # two to settle, four that count, warm-up, two recorded
    with profile(schedule=schedule(wait=6, warmup=1, active=2, repeat=1), on_trace_ready=handler) as prof:
        clock = []
        for seconds in lengths:
            began = time.perf_counter_ns()
            time.sleep(seconds)
            clock.append(time.perf_counter_ns() - began)
            prof.step()
    (directory,) = tmp_path.iterdir()
    told = json.loads((directory / "stepscope.json").read_text())["unrecorded_steps"]
    assert told["count"] == 4
    assert told["median_ns"] == pytest.approx(sorted(clock[2:6])[1] / 2 + sorted(clock[2:6])[2] / 2, rel=0.05)
    ranks = stepscope.load(directory).table("ranks").collect()
    assert ranks["unrecorded_step_ns"].to_list() == [told["median_ns"]]


def test_too_few_unrecorded_steps_tell_nothing(tmp_path: Path) -> None:
    directory, _ = _loop(tmp_path)  # one, and it is the first
    assert json.loads((directory / "stepscope.json").read_text())["unrecorded_steps"] is None


def test_ranges_and_marks_are_slices_of_their_steps(tmp_path: Path) -> None:
    directory, clock = _loop(tmp_path)
    run = stepscope.load(directory)
    slices = run.table("slices").filter(pl.col("kind").is_in(["annotation", "mark"])).collect().sort("start_ns")
    assert slices.select("name", "kind", "type", "step").rows()[:4] == [
        ("sleep", "annotation", "loop", 2),
        ("done", "mark", "default", 2),
        ("sleep", "annotation", "loop", 3),
        ("done", "mark", "default", 3),
    ]
    for row, (began, ended) in zip(slices.filter(kind="annotation").iter_rows(named=True), clock[2:7], strict=True):
        assert began <= row["start_ns"]
        assert 50_000_000 <= row["dur_ns"] <= ended - row["start_ns"]
    assert run.notes == []


def _looks(where: Path) -> int:
    """How often the process was looked at so far."""
    return sum(path.read_text().count('"process"') for path in where.rglob("cpu.jsonl"))


def test_processors_and_memory_are_sampled(tmp_path: Path) -> None:
    with profile(output_path=str(tmp_path)):
        until = time.monotonic() + HANGS_AFTER_S
        while _looks(tmp_path) < 3 and time.monotonic() < until:
            sum(range(100_000))
    run = stepscope.load(tmp_path)
    cpu = run.table("cpu").filter(pl.col("scope") == "process").collect()
    assert cpu.height >= 3
    busy = time.process_time()  # an upper bound on all that this process ever used
    assert 0 < (cpu["user"] + cpu["system"]).mean() <= 1.2  # type: ignore[operator]
    assert busy > 0
    memory = run.table("memory").filter(pl.col("component") == "process").collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    pages = memory["reserved"] if memory["reserved"].count() else memory["allocated"]  # blocks are told beside them
    assert pages.median() == pytest.approx(resident, rel=0.3)
    assert 0 < memory["allocated"].max() <= pages.max()  # type: ignore[operator]


def test_marks_alone_need_no_schedule_and_keep_domains(tmp_path: Path, said: list[str]) -> None:
    config = ExperimentalConfig(profiler_level=ProfilerLevel.LevelNone, mstx=True, mstx_domain_include=["wanted"])
    with profile(output_path=str(tmp_path), experimental_config=config):
        mstx.mark("left out")
        mstx.mark("in", domain="wanted")
        number = mstx.range_start("in too", domain="wanted")
        thread = threading.Thread(target=mstx.range_end, args=(number, "wanted"))
        thread.start()
        thread.join()
        assert mstx.range_start("out", domain="other") == 0
    slices = stepscope.load(tmp_path).table("slices").collect()
    assert slices.filter(pl.col("kind").is_in(["mark", "annotation"]))["name"].to_list() == ["in", "in too"]
    assert said == []


@pytest.mark.parametrize(("message", "domain"), [("", "d"), (None, "d"), (3, "d"), ("m", ""), ("m", None)])
def test_a_bad_mark_is_left_out_with_a_warning(tmp_path: Path, message: str, domain: str, said: list[str]) -> None:
    with profile(output_path=str(tmp_path)):
        mstx.mark(message, domain=domain)
        assert mstx.range_start(message, domain=domain) == 0
    assert len(said) == 1
    assert "mstx" in said[0]


def test_marks_cost_nothing_and_return_zero_outside_a_window() -> None:
    assert mstx.range_start("nobody records") == 0
    mstx.range_end(0)
    mstx.range_end(17)
    mstx.mark("nobody records")


def test_metadata_reaches_every_window(tmp_path: Path, said: list[str]) -> None:
    with profile(schedule=schedule(wait=0, active=1, repeat=2), output_path=str(tmp_path)) as prof:
        prof.add_metadata("note", "first run")
        prof.add_metadata_json("numbers", '{"a": [1, 2]}')
        prof.add_metadata_json("broken", "{")
        prof.add_metadata("note", "second thought")
        prof.add_metadata("count", 3)  # type: ignore[arg-type]
        for _ in range(3):
            prof.step()
    assert len(prof.windows) == 2
    for window in prof.windows:
        content = json.loads((window.directory / "profiler_metadata.json").read_text())
        assert content["note"] == "second thought"
        assert content["numbers"] == {"a": [1, 2]}
        assert "broken" not in content
        assert "count" not in content
    assert [text.split()[1].strip(":") for text in said] == ["broken", "note", "'count'"]


def test_switches_that_cannot_be_served_are_named_with_the_way_out(tmp_path: Path, said: list[str]) -> None:
    config = ExperimentalConfig(l2_cache=True, sys_io=True)
    with profile(output_path=str(tmp_path), with_stack=True, experimental_config=config):
        pass
    with profile(output_path=str(tmp_path), with_stack=True, experimental_config=config):
        pass
    assert sorted(text.split()[0] for text in said) == ["l2_cache", "sys_io", "with_stack"], "once each, not per window"
    assert all(":" in text for text in said)
    logs = [log.read_text() for log in tmp_path.glob("*/logs/*.log")]
    assert len(logs) == 2
    assert all("l2_cache" in log for log in logs), "each window's log has them"


def test_only_one_window_records_at_a_time(tmp_path: Path, said: list[str]) -> None:
    with profile(output_path=str(tmp_path / "a")) as first, profile(output_path=str(tmp_path / "b")) as second:
        pass
    assert len(first.windows) == 1
    assert second.windows == []
    assert not (tmp_path / "b").exists()
    assert "Another profiler" in said[0]


def test_sentences_come_in_the_users_language(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPSCOPE_LANG", "zh")
    profile(start_profile=False, output_path=str(tmp_path)).stop()
    assert said == ["采集未启动，stop() 已忽略。"]
