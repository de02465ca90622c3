"""Captures in whatever state they are: what cannot be read is noted, the rest is there."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.errors import UnreadableInputError
from stepscope.profiler import ExperimentalConfig, mstx, profile, schedule

T0 = 1_700_000_000_000_000_000


def make_capture(where: Path, state: str = "complete", backend: str = "plain", **files: list[dict[str, Any]]) -> Path:
    """A capture written by hand: steps, marks … as lists of records."""
    directory = where / "host_7_20231114221320123_ascend_pt"
    (directory / "STEPSCOPE").mkdir(parents=True)
    content = {
        "schema": "stepscope.capture/1",
        "state": state,
        "backend": backend,
        "rank": 0,
        "world_size": 1,
        "host": "host",
        "switches": {"is_set_schedule": True},
        "times": {"started_ns": T0} | ({"stopped_ns": T0 + 1000} if state == "complete" else {}),
    }
    (directory / "stepscope.json").write_text(json.dumps(content))
    for name, records in files.items():
        (directory / "STEPSCOPE" / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return directory


def test_a_damaged_description_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    capture = make_capture(tmp_path, steps=step(1, T0, T0 + 500))
    (capture / "stepscope.json").write_text((capture / "stepscope.json").read_text()[:40])
    run = stepscope.load(capture, progress=False)
    assert run.steps()["period_us"].to_list() == [0.5]
    assert "capture_description_damaged" in {note.code for note in run.notes}


def step(number: int, begin: int, end: int | None, event: str = "end") -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [{"event": "begin", "step": number, "time_ns": T0 + begin}]
    return lines + ([{"event": event, "step": number, "time_ns": T0 + end}] if end is not None else [])


def rows(run: stepscope.Run) -> list[tuple[Any, ...]]:
    steps = run.table("steps").collect()
    return steps.select("step", pl.col("host_start_ns") - T0, pl.col("host_end_ns") - T0, "incomplete").rows()


def codes(run: stepscope.Run) -> list[str]:
    return sorted(note.code for note in run.notes)


def test_steps_are_read_to_the_nanosecond(tmp_path: Path) -> None:
    make_capture(tmp_path, steps=[*step(4, 1, 100), *step(5, 101, 999)])
    run = stepscope.load(tmp_path)
    assert rows(run) == [(4, 1, 100, False), (5, 101, 999, False)]
    assert codes(run) == []


def test_a_step_that_was_cut_is_incomplete(tmp_path: Path) -> None:
    make_capture(tmp_path, steps=[*step(4, 1, 100), *step(5, 101, 130, "cut")])
    assert rows(stepscope.load(tmp_path)) == [(4, 1, 100, False), (5, 101, 130, True)]


def test_a_step_open_at_the_kill_lasts_to_the_last_known_moment(tmp_path: Path) -> None:
    marks = [{"event": "mark", "id": 1, "time_ns": T0 + 400, "message": "m", "domain": "d", "pid": 1, "tid": 1}]
    make_capture(tmp_path, state="recording", steps=[*step(4, 1, 100), *step(5, 101, None)], marks=marks)
    run = stepscope.load(tmp_path)
    assert rows(run) == [(4, 1, 100, False), (5, 101, 400, True)]
    assert codes(run) == ["capture_cut_off"]


def test_lost_operators_are_noted(tmp_path: Path) -> None:
    make_capture(tmp_path, state="recording", backend="torch", steps=step(0, 0, 10))
    assert codes(stepscope.load(tmp_path)) == ["capture_cut_off", "operators_lost"]


def test_a_torn_last_line_is_dropped_and_noted(tmp_path: Path) -> None:
    directory = make_capture(tmp_path, steps=step(0, 0, 10))
    with (directory / "STEPSCOPE" / "steps.jsonl").open("a") as file:
        file.write('{"event":"begin","step":1,"ti')
    run = stepscope.load(tmp_path)
    assert rows(run) == [(0, 0, 10, False)]
    assert codes(run) == ["capture_line_cut"]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[1, 2]",
        b"null",
        b'"text"',
        b'{"event":"end"}',
        b'{"event":3,"time_ns":"x"}',
        b"\xff\xfe\x00",
        b"{" * 5000,
        b'{"event":"end","step":1,"time_ns":1e999}',
        b'{"event":"end","step":1,"time_ns":99999999999999999999}',
    ],
)
def test_a_line_that_is_no_record_costs_itself_only(tmp_path: Path, line: bytes) -> None:
    directory = make_capture(tmp_path, steps=[*step(0, 0, 10), *step(1, 10, 20)])
    path = directory / "STEPSCOPE" / "steps.jsonl"
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], line, *lines[2:]]) + b"\n")
    run = stepscope.load(tmp_path)
    assert rows(run) == [(0, 0, 10, False), (1, 10, 20, False)]
    assert codes(run) == (["capture_lines_dropped"] if line else [])
    assert all(note.count == 1 for note in run.notes)


def test_ranges_pair_by_process_and_open_ones_last_to_the_end(tmp_path: Path) -> None:
    def mark(event: str, number: int, at: int, pid: int = 1) -> dict[str, Any]:
        record = {"event": event, "id": number, "time_ns": T0 + at, "domain": "d", "pid": pid, "tid": pid}
        return record if event == "end" else {**record, "message": f"{number}/{pid}"}

    marks = [mark("begin", 1, 10), mark("begin", 1, 20, pid=2), mark("end", 1, 30), mark("end", 1, 50, pid=2)]
    marks += [mark("begin", 2, 600), mark("end", 9, 700), mark("mark", 3, 650)]
    make_capture(tmp_path, steps=step(0, 0, 1000), marks=marks)
    run = stepscope.load(tmp_path)
    slices = run.table("slices").filter(pl.col("kind") != "step").collect().sort("start_ns")
    assert slices.select("name", pl.col("start_ns") - T0, "dur_ns", "kind", "step").rows() == [
        ("1/1", 10, 20, "annotation", 0),
        ("1/2", 20, 30, "annotation", 0),
        ("2/1", 600, 400, "annotation", 0),
        ("3/1", 650, 0, "mark", 0),
    ]
    assert codes(run) == ["ranges_open"]


def test_a_capture_without_any_line_still_opens(tmp_path: Path) -> None:
    make_capture(tmp_path)
    run = stepscope.load(tmp_path)
    assert run.ranks == [0]
    assert run.table("steps").collect().is_empty()


@pytest.mark.parametrize("content", ["[]", '{"schema": "other"}'])
def test_a_file_of_that_name_that_is_something_else_is_not_claimed(tmp_path: Path, content: str) -> None:
    directory = make_capture(tmp_path, steps=step(0, 0, 10))
    (directory / "stepscope.json").write_text(content)
    with pytest.raises(UnreadableInputError):
        stepscope.load(tmp_path)


def test_hostile_values_in_the_description_do_no_harm(tmp_path: Path) -> None:
    directory = make_capture(tmp_path, steps=step(0, 0, 10))
    content = json.loads((directory / "stepscope.json").read_text())
    content |= {"groups": [3, {"group": None}, {"group": "g", "ranks": "0"}], "device": [], "versions": 3, "times": "x"}
    content |= {"world_size": 1 << 80, "host": {"a": 1}}
    (directory / "stepscope.json").write_text(json.dumps(content))
    run = stepscope.load(tmp_path)
    assert rows(run) == [(0, 0, 10, False)]
    assert run.table("ranks").collect()["world_size"].to_list() == [None]


def test_windows_of_one_folder_are_listed_and_the_newest_is_opened(tmp_path: Path, plain: None) -> None:
    config = ExperimentalConfig(mstx=True)
    plan = schedule(wait=0, active=1, repeat=3)
    with profile(schedule=plan, output_path=str(tmp_path), experimental_config=config) as prof:
        for number in range(3):
            mstx.mark(f"step {number}")
            time.sleep(0.003)
            prof.step()
    assert len(prof.windows) == 3
    newest = stepscope.load(tmp_path)
    assert newest.table("steps").collect()["step"].to_list() == [2]
    first = stepscope.load(tmp_path, window=prof.windows[0].directory.name)
    assert first.table("steps").collect()["step"].to_list() == [0]


def test_slice_ids_are_unique_and_stable(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with profile(output_path=str(tmp_path / "out"), experimental_config=ExperimentalConfig(mstx=True)):
        mstx.mark("a")
        list(torch.utils.data.DataLoader(torch.arange(8), batch_size=4))
    first = stepscope.load(tmp_path / "out", store=tmp_path / "one").table("slices").collect()
    second = stepscope.load(tmp_path / "out", store=tmp_path / "two").table("slices").collect()
    assert first["slice"].n_unique() == first.height
    assert first.sort("slice").equals(second.sort("slice"))
    tracks = stepscope.load(tmp_path / "out").table("tracks").collect()
    assert tracks["track"].n_unique() == tracks.height
    assert set(first["track"]) <= set(tracks["track"])


def test_mindspores_own_files_are_joined_with_our_steps(tmp_path: Path) -> None:
    steps = [*step(4, 0, 1_000_000), *step(5, 1_000_000, 2_000_000)]
    directory = make_capture(tmp_path, backend="mindspore", steps=steps)
    (directory / "FRAMEWORK").mkdir()
    lines = [
        f"Default/net/MatMul-op0;HostCpuOps;{T0 + 100_000},0.2,0 {T0 + 1_100_000},0.3,0",
        f"Default/net/Add-op1;HostCpuOps;{T0 + 500_000},0.1,0",
    ]
    (directory / "FRAMEWORK" / "cpu_op_execute_timestamp_0.txt").write_text("\n".join(lines) + "\n")
    run = stepscope.load(tmp_path)
    assert rows(run) == [(4, 0, 1_000_000, False), (5, 1_000_000, 2_000_000, False)]
    found = run.table("slices").filter(pl.col("name").cast(pl.String).str.contains("-op")).collect().sort("start_ns")
    assert found.select(pl.col("name").cast(pl.String), pl.col("start_ns") - T0, "dur_ns", "step").rows() == [
        ("Default/net/MatMul-op0", 100_000, 200_000, 4),
        ("Default/net/Add-op1", 500_000, 100_000, 4),
        ("Default/net/MatMul-op0", 1_100_000, 300_000, 5),
    ]
    assert run.table("ranks").collect()["framework"].to_list() == ["mindspore"]


def test_a_finer_memory_curve_of_the_trace_replaces_our_samples_of_that_device(tmp_path: Path) -> None:
    from stepscope.readers.discovery.source import Source
    from stepscope.readers.files.reading import Reading
    from stepscope.readers.stepscope_capture.samples import read_samples
    from stepscope.store.notes import Notes
    from stepscope.store.rank_writer import RankWriter

    rows = [{"time_ns": T0 + n, "device": f"cuda:{n % 2}", "component": "c", "allocated": n} for n in range(4)]
    rows.append({"time_ns": T0, "device": "cpu", "component": "process", "allocated": 7})
    directory = make_capture(tmp_path / "capture", memory=rows)
    out = RankWriter(tmp_path, 0)
    source = Source(directory, "stepscope_capture", 0, ())
    read_samples(directory / "STEPSCOPE", Reading(source, out, Notes()), known_devices={"cuda:0", "cpu"})
    (name,) = out.close()["memory"]
    kept = pl.read_parquet(tmp_path / name)
    assert kept.select(pl.col("device").cast(pl.String), "allocated").rows() == [
        ("cpu", 7),
        ("cuda:1", 1),
        ("cuda:1", 3),
    ]
