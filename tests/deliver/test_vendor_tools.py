"""The vendor's own tools on what we deliver say what our answers say, field by field.

Real trainings, PyTorch and MindSpore, one rank and two, go through msprof-analyze (cluster, compare, advisor), once
with the text files alone and once with the databases alone. Its cluster analysis takes ten seconds a job: ``make test``
has it look at two ranks, each by itself and both together, ``make soak`` also at one rank alone.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sqlite3
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from deliver.recorded_jobs import FORMS, FRAMEWORKS, WORLDS, Recorded, captures_of
from deliver.spreadsheets import sheet
from stepscope.analysis.foundation.intervals import difference, union
from stepscope.analysis.timeline.clock import RankClock, RunClock
from stepscope.analysis.timeline.lanes import rank_lanes
from support.limits import HANGS_AFTER_S

_ROOT = Path(__file__).resolve().parents[2]
_TOOL = Path(os.environ.get("STEPSCOPE_MSPROF_ANALYZE", _ROOT / ".venv-vendor" / "bin" / "msprof-analyze"))
_ROUNDING_US = 0.0011

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not _TOOL.exists(), reason="needs msprof-analyze in .venv-vendor, which make test installs"),
    pytest.mark.parametrize("form", FORMS),
    pytest.mark.parametrize("framework", FRAMEWORKS),
]

#: How types of communication begin: calls, and on the host the operators that make them.
_COMMUNICATION = ("hcom_", "c10d::")
#: The vendor's columns of a step, in text and db, and our fields.
_STEP_FIELDS = {
    ("Computing", "computing"): "computing_us",
    ("Communication(Not Overlapped)", "communication_not_overlapped"): "exposed_communication_us",
    ("Overlapped", "overlapped"): "overlapped_us",
    ("Communication", "communication"): "communication_us",
    ("Free", "free"): "free_us",
    ("Stage", "stage"): "stage_us",
    ("Bubble", "bubble"): "bubble_us",
    ("Preparing", "preparing"): "preparing_us",
}

Recordings = Callable[[str, int], Recorded]


def _tool(*arguments: object) -> str:
    done = subprocess.run(
        [str(_TOOL), *map(str, arguments)], capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False, cwd="/"
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Traceback" not in said
    return said


def _rows(database: Path, table: str) -> list[dict[str, Any]]:
    with sqlite3.connect(database) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]


class Cluster:
    """What the vendor's cluster analysis made of a job, read in the same shape from text and db."""

    def __init__(self, out: Path, form: str) -> None:
        self._out, self._form = out / "cluster_analysis_output", form
        self._database = self._out / "cluster_analysis.db"

    def steps(self) -> dict[tuple[int, str | None], dict[str, float]]:
        """By rank and step, under our names."""
        if self._form == "text":
            with (self._out / "cluster_step_trace_time.csv").open(encoding="utf-8") as lines:
                rows: list[dict[str, Any]] = list(csv.DictReader(lines))
            keys, place = ("Type", "Index", "Step"), 0
        else:
            rows, place = _rows(self._database, "ClusterStepTraceTime"), 1
            keys = ("type", "index", "step")
        return {
            (int(row[keys[1]]), row[keys[2]]): {
                ours: float(row[columns[place]]) for columns, ours in _STEP_FIELDS.items()
            }
            for row in rows
            if row[keys[0]] == "rank"
        }

    def elapse_ms(self) -> dict[tuple[int, str], float]:
        """By rank and call."""
        if self._form == "db":
            rows = _rows(self._database, "ClusterCommunicationTime")
            return {(row["rank_id"], row["hccl_op_name"]): row["elapsed_time"] for row in rows if _is_call(row)}
        content = json.loads((self._out / "cluster_communication.json").read_text("utf-8"))
        assert list(content) == ["(0, 1)"], "one group of both ranks"
        return {
            (int(rank), name.partition("@")[0]): entry["Communication Time Info"]["Elapse Time(ms)"]
            for calls in content["(0, 1)"].values()
            for name, ranks in calls.items()
            if not name.startswith("Total")
            for rank, entry in ranks.items()
        }

    def bytes_between_ranks(self) -> dict[tuple[int, int], float]:
        """By source and target, over all steps and kinds of calls."""
        found: dict[tuple[int, int], float] = defaultdict(float)
        if self._form == "db":
            for row in _rows(self._database, "ClusterCommunicationMatrix"):
                if str(row["hccl_op_name"]).endswith("-total"):
                    found[int(row["src_rank"]), int(row["dst_rank"])] += row["transit_size"] * 1e6
            return found
        content = json.loads((self._out / "cluster_communication_matrix.json").read_text("utf-8"))
        for calls in content["(0, 1)"].values():
            for name, links in calls.items():
                for ends, link in links.items() if "-total" in name else ():
                    source, _, target = ends.partition("-")
                    found[int(source), int(target)] += link["Transit Size(MB)"] * 1e6
        return found


def _is_call(row: dict[str, Any]) -> bool:
    return not str(row["hccl_op_name"]).startswith("Total")


@pytest.mark.parametrize("world", [pytest.param(1, marks=pytest.mark.soak), 2])
def test_the_cluster_analysis_says_what_our_answers_say(
    recorded: Recordings, tmp_path: Path, framework: str, world: int, form: str
) -> None:
    job = recorded(framework, world)
    _tool("cluster", "-m", "all", "-d", job.form(form), "-o", tmp_path)
    cluster, run = Cluster(tmp_path, form), job.run()
    steps = run.steps()
    if framework == "mindspore" and form == "db":
        _holds_over_all_steps(cluster, run, steps)
    else:
        theirs = cluster.steps()
        assert set(theirs) == {(row["rank"], str(row["step"])) for row in steps.iter_rows(named=True)}
        for row in steps.iter_rows(named=True):
            for field, value in theirs[row["rank"], str(row["step"])].items():
                assert value == pytest.approx(row[field], abs=_ROUNDING_US), (field, row["rank"], row["step"])
    if world == 2:
        _holds_for_communication(cluster, run, framework)


def _holds_over_all_steps(cluster: Cluster, run: Any, steps: pl.DataFrame) -> None:
    """MindSpore's databases know no steps: there the tool counts from the first work to the last."""
    for (rank, step), theirs in cluster.steps().items():
        assert step is None
        own = steps.filter(pl.col("rank") == rank)
        for field in ("computing_us", "exposed_communication_us", "overlapped_us", "communication_us"):
            assert theirs[field] == pytest.approx(own[field].sum(), abs=_ROUNDING_US), field
        is_work = pl.col("kind").cast(pl.String).is_in(["operator", "collective"])
        work = run.table("slices").filter((pl.col("rank") == rank) & is_work).collect()
        span = (work["start_ns"] + work["dur_ns"]).max() - work["start_ns"].min()
        assert theirs["stage_us"] == pytest.approx(span / 1000, abs=_ROUNDING_US)


def _holds_for_communication(cluster: Cluster, run: Any, framework: str) -> None:
    ours = run.table("collectives").sort("rank", "start_ns").collect()
    theirs = cluster.elapse_ms()
    assert len(theirs) == len(ours) > 0
    for rank in (0, 1):
        elapse = sorted(value for (of_rank, _), value in theirs.items() if of_rank == rank)
        own = ours.filter(pl.col("rank") == rank)
        assert elapse == pytest.approx(sorted((own["end_ns"] - own["start_ns"]) / 1e6), abs=1e-6)
    if framework == "torch":  # MindSpore does not record sizes
        sent = cluster.bytes_between_ranks()
        for rank in (0, 1):
            assert sent[rank, 1 - rank] == pytest.approx(ours.filter(pl.col("rank") == rank)["bytes"].sum())


def _expected_ms(run: Any, form: str) -> dict[str, float]:
    """Computing, exposed communication and the whole time of rank 0, as the timeline's lanes show them.

    They reach from the first step's begin to the last step's end. A database shows calls in full, also beyond that, and
    nothing of what the host spends in the operators that call them (``c10d::…``).
    """
    lanes = rank_lanes(run.store, 0, RunClock(0, 0, {0: RankClock()}))
    first, last = lanes.span
    if form == "db":
        first = min(first, *(int(lane.start.min()) for lane in lanes.lanes if len(lane.start)))
        last = max(last, *(int(lane.end.max()) for lane in lanes.lanes if len(lane.end)))
    computing, _, communication, *_ = (lane.clipped(first, last) for lane in lanes.lanes)
    if form == "db":
        calls = run.table("collectives").filter(pl.col("rank") == 0).select("start_ns", "end_ns").collect()
        recorded = union(*(calls[end].to_numpy() for end in ("start_ns", "end_ns")))
        communication = difference(recorded, computing)
    return {
        "computing": computing.length / 1e6,
        "communication": communication.length / 1e6,
        "whole": (last - first) / 1e6,
    }


def test_the_advisor_sums_up_what_our_answers_say(
    recorded: Recordings, tmp_path: Path, framework: str, form: str
) -> None:
    job = recorded(framework, 1)
    said = _tool("advisor", "all", "-l", "en", "-d", captures_of(job.form(form))[0], "-o", tmp_path)
    assert list(tmp_path.rglob("mstt_advisor_*.html"))
    names = ("E2E Time", "Computing Time", "Uncovered Communication Time", "Free Time")
    theirs = {name: float(re.findall(rf"{name} is ([\d.]+)ms", said)[0]) for name in names}
    expected = _expected_ms(job.run(), form)
    assert theirs["Computing Time"] == pytest.approx(expected["computing"], abs=_ROUNDING_US)
    assert theirs["Uncovered Communication Time"] == pytest.approx(expected["communication"], abs=_ROUNDING_US)
    assert theirs["E2E Time"] == pytest.approx(expected["whole"], abs=_ROUNDING_US)
    busy = expected["computing"] + expected["communication"]
    assert theirs["Free Time"] == pytest.approx(expected["whole"] - busy, abs=2 * _ROUNDING_US)


@pytest.mark.parametrize("world", WORLDS)
def test_the_comparison_says_what_our_answers_say(
    recorded: Recordings, tmp_path: Path, framework: str, world: int, form: str
) -> None:
    job = recorded(framework, world)
    first = captures_of(job.form(form))[0]
    said = _tool("compare", "-d", first, "-bp", first, "-o", tmp_path)
    result, run = next(tmp_path.rglob("performance_comparison_result_*.xlsx")), job.run()
    overall = {str(row[0]).strip(): row[1] for row in sheet(result, "OverallMetrics")[2:]}
    expected = _expected_ms(run, form)
    assert float(overall["Computing Time"] or 0) == pytest.approx(expected["computing"], abs=_ROUNDING_US)
    communicated = float(overall.get("Uncovered Communication Time") or 0)
    assert communicated == pytest.approx(expected["communication"], abs=_ROUNDING_US)
    assert float(overall["E2E Time"] or 0) == pytest.approx(expected["whole"], abs=_ROUNDING_US)
    if framework == "torch" or form == "text":  # MindSpore's database has no memory
        shown = re.findall(r"([\d.]+)G", said)
        reserved = max(_reserved_bytes(first, form))
        assert shown and float(shown[0]) == pytest.approx(reserved / 2**30, abs=0.0051)
        assert reserved <= 2**31, "the allocators' memory, not the machine's"
    _holds_for_kernels(run, sheet(result, "KernelCompare"), exact=world == 1 or framework == "mindspore", form=form)


def _reserved_bytes(capture: Path, form: str) -> list[float]:
    output = capture / "ASCEND_PROFILER_OUTPUT"
    if form == "db":
        return [row["totalReserved"] for row in _rows(next(output.glob("ascend_*.db")), "MEMORY_RECORD")]
    with (output / "memory_record.csv").open(encoding="utf-8") as lines:
        return [float(row["Total Reserved(MB)"]) * 2**20 for row in csv.DictReader(lines)]


def _holds_for_kernels(run: Any, rows: list[list[str | None]], *, exact: bool, form: str) -> None:
    """Time and calls of every type. ``exact`` is false where own time of operators passes while others communicate:
    the database, which is all about intervals, leaves that time to the communication."""
    theirs: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in rows[2:]:
        if not str(row[1]).startswith(_COMMUNICATION):  # the table has communication among the kernels
            theirs[str(row[1])][0] += float(row[3] or 0)
            theirs[str(row[1])][1] += float(row[7] or 0)
    ours = {row["type"]: row for row in run.operators(ranks=[0], by="type", side="host").iter_rows(named=True)}
    assert set(theirs) == set(ours)
    for kind, row in ours.items():
        total, calls = theirs[kind]
        if exact or form == "text":
            assert total == pytest.approx(row["total_us"], abs=0.01 * len(rows)), kind
        else:
            assert total <= row["total_us"] + 0.01 * len(rows), kind
        if form == "text":
            assert calls == row["count"], kind
        else:
            assert calls >= row["count"] or total == 0, (
                "an operator around others is a task for each stretch of its own"
            )
