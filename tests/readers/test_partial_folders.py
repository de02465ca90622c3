"""Folders of which only the vendor's summaries are left: their steps and communication are given as reported."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.windows import windows
from stepscope.texts import LANGUAGES
from support.traces import write

_COLUMNS = (
    "Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing"
)
#: Computing + not overlapped + free = 100, 110, ...
_NUMBERS = {0: "60,30,5,35,10,100,0,30,7", 1: "55,45,5,50,10,110,0,45,6"}
_GROUP = "17148521525495523210"


def _call(start_us: str, elapse_ms: float) -> dict[str, Any]:
    times = {"Start Timestamp(us)": start_us, "Elapse Time(ms)": elapse_ms, "Transit Time(ms)": 0.01}
    return {"Communication Time Info": times | {"Wait Time(ms)": 0.02, "Idle Time(ms)": 0.0}}


def _rank_directory(root: Path, rank: int) -> Path:
    """What is left after somebody deleted timelines and kernel tables to save space."""
    output = root / f"node_{7000 + rank}_20250109123456789_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output.parent / f"profiler_info_{rank}.json").write_text(json.dumps({"rank_id": rank}))
    (output / "step_trace_time.csv").write_text(f"Step,{_COLUMNS}\n50,{_NUMBERS[rank]}\n")
    calls = {f"hcom_allReduce__210_0_1@{_GROUP}": _call(f"173641057643164{rank}.250", 0.035)}
    (output / "communication.json").write_text(json.dumps({"step50": {"p2p": {}, "collective": calls}}))
    link = {"Transport Type": "HCCS", "Transit Size(MB)": 2.0, "Transit Time(ms)": 1.0, "Bandwidth(GB/s)": 2.0}
    matrix = {f"allreduce-total@{_GROUP}": {f"{rank}-{1 - rank}": link}}
    (output / "communication_matrix.json").write_text(json.dumps({"step50": {"p2p": {}, "collective": matrix}}))
    return output


def _analysis_db(output: Path, rank: int) -> None:
    names = ["computing", "communication_not_overlapped", "overlapped", "communication", "free", "stage", "bubble"]
    names += ["communication_not_overlapped_and_exclude_receive", "preparing"]
    with sqlite3.connect(output / "analysis.db") as database:
        database.execute(f"CREATE TABLE StepTraceTime (deviceId INTEGER, step TEXT, {', '.join(names)})")
        database.execute(f"INSERT INTO StepTraceTime VALUES ({rank}, '50', {_NUMBERS[rank]})")


@pytest.mark.parametrize("with_db", [False, True])
def test_summaries_alone_give_steps_and_communication(with_db: bool, tmp_path: Path) -> None:
    for rank in (0, 1):
        output = _rank_directory(tmp_path, rank)
        if with_db:
            _analysis_db(output, rank)
    run = stepscope.load(tmp_path, progress=False)
    answer = run.ask("steps")
    rows = answer.data.to_dicts()
    names = ("rank", "step", "period_us", "computing_us", "exposed_communication_us", "communication_us", "idle_us")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (0, 50, 100.0, 60.0, 30.0, 35.0, 10.0),
        (1, 50, 110.0, 55.0, 45.0, 50.0, 10.0),
    ]
    assert {(row["mode"], row["start_ns"], row["idle_by_cause"]["unknown_us"]) for row in rows} == {
        ("reported", None, 10.0)
    }
    reported = [note for note in answer.notes if note.code == "steps_as_reported"]
    assert [note.rank for note in reported] == [0, 1]
    assert all(reported[0].sentence(language) for language in LANGUAGES)
    summary = run.summary()
    assert [entry.period_us for entry in summary.ranks] == [100.0, 110.0]
    if not with_db:  # which holds no calls here
        calls = run.table("collectives").collect().to_dicts()
        assert [(row["rank"], row["kind"], row["end_ns"] - row["start_ns"]) for row in calls] == [
            (0, "all_reduce", 35_000),
            (1, "all_reduce", 35_000),
        ]
        moved = run.table("transfers").collect().to_dicts()
        assert [(row["rank"], row["peer"], row["bytes"]) for row in moved] == [(0, 1, 2_000_000), (1, 0, 2_000_000)]
    assert run.diagnose().findings[0].kind == "exposed_communication"


def test_results_of_sixteen_ranks_are_sixteen_ranks(tmp_path: Path) -> None:
    folder = tmp_path / "cluster_analysis_output"
    folder.mkdir()
    lines = [f"7,rank,{rank},{60 + rank},30,5,35,10,{100 + rank},0,30,7,,," for rank in range(16)]
    stage = '7,stage,"(0, 1, 2, 3)",75,30,5,35,10,115,0,30,7,,,'
    header = f"Step,Type,Index,{_COLUMNS},DP Index,PP Index,TP Index"
    (folder / "cluster_step_trace_time.csv").write_text("\n".join([header, *lines, stage, ""]))
    run = stepscope.load(tmp_path, progress=False)
    assert run.ranks == list(range(16))
    rows = run.steps().to_dicts()
    assert [(row["rank"], row["computing_us"], row["period_us"]) for row in rows] == [
        (rank, 60.0 + rank, 100.0 + rank) for rank in range(16)
    ]
    assert [entry.rank for entry in run.summary(ranks=[3, 9]).ranks] == [3, 9]


def test_text_or_db_is_chosen_for_all_ranks_and_by_what_it_holds(tmp_path: Path) -> None:
    """Both ranks have a timeline as text and only the vendor's results as db; one of them has few files."""
    for rank in (0, 1):
        output = _rank_directory(tmp_path, rank)
        _analysis_db(output, rank)
        (output / "trace_view.json").write_text('[{"ph": "M", "name": "process_name", "pid": 1, "args": {}}]')
        if rank:
            for name in ("communication.json", "communication_matrix.json", "step_trace_time.csv"):
                (output / name).unlink()
    (window,) = windows(tmp_path)
    assert [source.form for source in window.sources] == ["text", "text"]
    (window,) = windows(tmp_path, "db")
    assert [source.form for source in window.sources] == ["db", "db"]


@pytest.mark.parametrize("name", ["profiler_info_0.json", "profiler_metadata.json"])
def test_a_file_that_tells_nothing_alone_stands_for_its_capture(name: str, tmp_path: Path) -> None:
    directory = tmp_path / "host_1_20260101_ascend_pt"
    write(directory / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", [])
    write(directory / "profiler_info_0.json", {"rank_id": 0})
    write(directory / "profiler_metadata.json", {"distributed_backend": {}})
    (window,) = windows(directory / name)
    assert window.sources == [replace(source, rank=0) for source in windows(directory)[0].sources]


def test_a_file_beside_a_capture_is_none(tmp_path: Path) -> None:
    write(tmp_path / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", [])
    (tmp_path / "README.md").write_text("read me")
    with pytest.raises(UnreadableInputError):
        windows(tmp_path / "README.md")
