"""Each delivered file of a real training beside our own answers, in text and db, without any vendor's tool."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from deliver.recorded_jobs import FRAMEWORKS, Recorded

pytestmark = [pytest.mark.torch, pytest.mark.parametrize("framework", FRAMEWORKS)]

Recordings = Callable[[str, int], Recorded]
_MB = 2**20


class Delivered:
    """The files of the one rank of a job, and its run."""

    def __init__(self, job: Recorded) -> None:
        self.output = job.captures[0] / "ASCEND_PROFILER_OUTPUT"
        self.run = job.run()

    def rows(self, name: str) -> list[dict[str, str]]:
        with (self.output / name).open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))

    def table(self, query: str) -> list[tuple[Any, ...]]:
        (file,) = self.output.glob("ascend_*_profiler_0.db")
        with sqlite3.connect(file) as database:
            return database.execute(query).fetchall()

    @property
    def files(self) -> set[str]:
        return {path.name for path in self.output.iterdir()}


@pytest.fixture
def delivered(recorded: Recordings, framework: str) -> Delivered:
    return Delivered(recorded(framework, 1))


_TEXT = {
    "kernel_details.csv",
    "step_trace_time.csv",
    "op_statistic.csv",
    "operator_details.csv",
    "memory_record.csv",
    "dataset.csv",
    "trace_view.json",
    "minddata_pipeline_raw_0.csv",
    "minddata_pipeline_summary_0.json",
    "minddata_pipeline_summary_0.csv",
}
_OF_FRAMEWORK = {
    "torch": {"operator_memory.csv", "ascend_pytorch_profiler_0.db", "analysis.db"},
    "mindspore": {"ascend_mindspore_profiler_0.db", "communication_analyzer.db"},
}


def test_every_file_is_written_or_named(delivered: Delivered, framework: str) -> None:
    assert delivered.files == _TEXT | _OF_FRAMEWORK[framework]
    stated = json.loads((delivered.output.parent / "stepscope.json").read_text())["files_not_written"]
    missing = {"api_statistic.csv", "communication.json", "communication_matrix.json", "npu_module_mem.csv"}
    missing |= {"operator_memory.csv"} if framework == "mindspore" else set()
    assert {one["file"] for one in stated} == missing


def test_types_of_operators_have_the_same_calls_and_times_everywhere(delivered: Delivered) -> None:
    ours = {row["type"]: row for row in delivered.run.operators(by="type", side="host").iter_rows(named=True)}
    in_details: dict[str, float] = defaultdict(float)
    for row in delivered.rows("kernel_details.csv"):
        in_details[row["Type"]] += float(row["Duration(us)"])
    calls = Counter(row["Type"] for row in delivered.rows("kernel_details.csv"))
    statistic = {row["OP Type"]: row for row in delivered.rows("op_statistic.csv")}
    in_tasks = dict(
        delivered.table(
            "SELECT value, sum(endNs - startNs) / 1000.0 FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId) "
            "JOIN STRING_IDS ON id = opType GROUP BY value"
        )
    )
    assert set(ours) == set(in_details) == set(statistic) == set(in_tasks)
    for kind, answer in ours.items():
        assert in_details[kind] == pytest.approx(answer["total_us"]), kind
        assert in_tasks[kind] == pytest.approx(answer["total_us"]), kind
        assert float(statistic[kind]["Total Time(us)"]) == pytest.approx(answer["total_us"], abs=0.001), kind
        assert (calls[kind], int(statistic[kind]["Count"])) == (answer["count"], answer["count"]), kind
        assert float(statistic[kind]["Ratio(%)"]) == pytest.approx(answer["share"] * 100, abs=0.001), kind


def test_memory_files_have_the_peak_of_the_answer(delivered: Delivered, framework: str) -> None:
    memory = delivered.run.memory()
    curve = delivered.rows("memory_record.csv")
    assert {row["Component"] for row in curve} == {"PTA" if framework == "torch" else "MindSpore"}
    assert max(float(row["Total Allocated(MB)"]) for row in curve) * _MB == pytest.approx(memory.peak_bytes)
    if framework == "torch":
        blocks = delivered.run.table("allocations").collect()
        sizes = sorted(
            -size if start is None else size for size, start in blocks.select("bytes", "alloc_ns").iter_rows()
        )
        in_text = sorted(float(row["Size(KB)"]) * 1024 for row in delivered.rows("operator_memory.csv"))
        assert in_text == pytest.approx(sizes)
        assert sorted(size for (size,) in delivered.table("SELECT size FROM OP_MEMORY")) == sizes
        assert max(delivered.table("SELECT totalAllocated FROM MEMORY_RECORD"))[0] == memory.peak_bytes


def test_marks_and_steps_are_in_the_database_and_on_the_timeline(delivered: Delivered, framework: str) -> None:
    marks = {row["name"]: row for row in delivered.run.marks().iter_rows(named=True)}
    stored = delivered.table(
        "SELECT value, count(*), sum(endNs - startNs) / 1000.0 FROM MSTX_EVENTS "
        "JOIN STRING_IDS ON id = message GROUP BY value"
    )
    assert {name: (count, pytest.approx(total)) for name, count, total in stored} == {
        name: (row["count"], row["total_us"]) for name, row in marks.items()
    }
    steps = delivered.run.table("steps").collect()
    assert delivered.table("SELECT * FROM STEP_TIME") == steps.select("step", "host_start_ns", "host_end_ns").rows()
    events = json.loads((delivered.output / "trace_view.json").read_text("utf-8"))
    shown = [event for event in events if "ProfilerStep#" in event["name"]]
    assert [event["name"].rpartition("#")[2] for event in shown] == [str(step) for step in steps["step"]]
    processes = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert processes == {"torch": {"Python"}, "mindspore": {"MindSpore", "CPU OP"}}[framework] | {"Overlap Analysis"}


def test_call_chains_end_in_the_training_script(recorded: Recordings, framework: str) -> None:
    if framework == "mindspore":
        pytest.skip("MindSpore's database has no operators of the framework")
    delivered = Delivered(recorded(framework, 1))
    chains = delivered.table(
        "SELECT DISTINCT chain.value FROM PYTORCH_API JOIN PYTORCH_CALLCHAINS ON callchainId = PYTORCH_CALLCHAINS.id "
        "JOIN STRING_IDS AS chain ON chain.id = stack"
    )
    assert any("torch_training.py" in frame for (frame,) in chains)
    depths = delivered.table("SELECT id, count(*), max(stackDepth) FROM PYTORCH_CALLCHAINS GROUP BY id")
    assert depths and all(deepest == count - 1 for _, count, deepest in depths)


def test_the_pipeline_files_have_the_stages_of_the_answer(delivered: Delivered) -> None:
    stages = delivered.run.table("pipeline_ops").sort("op").collect()
    summary = json.loads((delivered.output / "minddata_pipeline_summary_0.json").read_text("utf-8"))
    assert summary["op_ids"] == stages["op"].to_list()
    assert len(delivered.rows("minddata_pipeline_raw_0.csv")) == len(stages)
    batches = delivered.run.table("pipeline_batches").collect()
    occurrences = [int(row["Occurrences"]) for row in delivered.rows("dataset.csv")]
    assert occurrences and min(occurrences) >= 1
    assert len(batches.filter(pl.col("total_us").is_not_null())) >= 3


def test_our_own_reader_reads_the_database_back(delivered: Delivered, tmp_path: Path) -> None:
    copy = tmp_path / delivered.output.parent.name
    (copy / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
    for file in delivered.output.glob("*.db"):
        shutil.copy(file, copy / "ASCEND_PROFILER_OUTPUT")
    shutil.copy(delivered.output.parent / "profiler_info_0.json", copy)
    again = stepscope.load(copy, progress=False, store=tmp_path / "store")
    computed = again.sql("SELECT sum(dur_ns) FROM slices WHERE kind = 'kernel'").item() / 1000
    own_time = sum(float(row["Duration(us)"]) for row in delivered.rows("kernel_details.csv"))
    assert computed == pytest.approx(own_time)
