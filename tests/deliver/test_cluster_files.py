"""Files about a cluster: what msprof-analyze writes on the same capture, field by field."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope import deliver
from stepscope.errors import NoAnswerError
from stepscope.run import Run
from stepscope.simulate.scenario import Host, Plan
from stepscope.simulate.writing import simulate
from support.limits import HANGS_AFTER_S
from support.mini_trace import counter, write_trace
from support.scenarios import GPU, NPU, small

_ROOT = Path(__file__).resolve().parents[2]
_MSPROF = Path(os.environ.get("STEPSCOPE_MSPROF_ANALYZE", _ROOT / ".venv-vendor" / "bin" / "msprof-analyze"))
FOLDER = "cluster_analysis_output"


def exported(run: Run, out: Path) -> Path:
    (written,) = deliver.export(run.store, "cluster", out, captures=[])
    return written / FOLDER


def document(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def step_rows(folder: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    with (folder / "cluster_step_trace_time.csv").open(encoding="utf-8") as lines:
        return {(row["Step"], row["Type"], row["Index"]): row for row in csv.DictReader(lines)}


@pytest.mark.skipif(not _MSPROF.exists(), reason="needs msprof-analyze in .venv-vendor (make test)")
def test_every_value_is_the_one_that_msprof_analyze_writes(tmp_path: Path) -> None:
    plan = Plan(dp=2, tp=2, pp=2, micro_batches=2)
    simulate(small(NPU, plan=plan, steps=2, clocks="same", host=Host(ranks=4)), tmp_path / "files", form="ascend-text")
    (tmp_path / "files" / "truth.json").unlink()  # the tool takes every JSON file for one of its own
    command = [_MSPROF, "cluster", "-m", "all", "-d", tmp_path / "files", "-o", tmp_path / "vendor"]
    subprocess.run([*map(str, command)], check=True, capture_output=True, timeout=HANGS_AFTER_S, cwd="/")
    theirs = tmp_path / "vendor" / FOLDER
    ours = exported(stepscope.load(tmp_path / "files", store=tmp_path / "cache"), tmp_path / "ours")

    assert step_rows(ours) == step_rows(theirs)
    _same_values(ours, theirs, "cluster_communication.json", 20_000, ())
    _same_values(ours, theirs, "cluster_communication_matrix.json", 4_000, ("Op Name", "Transport Type"))
    groups, their_groups = (document(folder / "communication_group.json") for folder in (ours, theirs))
    for kind in ("collective", "p2p"):
        assert sorted(groups[kind]) == sorted(map(sorted, their_groups[kind]))
    rows, their_rows = (
        {
            (row["type"], row["group_name"]): (row["rank_set"], row["pg_name"])
            for row in each["comm_group_parallel_info"]
        }
        for each in (groups, their_groups)
    )
    assert rows == their_rows


def test_a_capture_as_databases_gives_the_files_of_the_same_capture_as_text(tmp_path: Path) -> None:
    plan = Plan(dp=2, pp=2, micro_batches=2)
    folders = []
    for form in ("ascend-text", "ascend-db"):
        simulate(small(NPU, plan=plan, steps=2, clocks="same", host=Host(ranks=2)), tmp_path / form, form=form)
        run = stepscope.load(tmp_path / form, store=tmp_path / f"{form}-cache")
        folders.append(exported(run, tmp_path / f"{form}-out"))
    text, databases = folders

    assert step_rows(databases) == step_rows(text)
    _same_values(databases, text, "cluster_communication.json", 2_000, ())
    _same_values(databases, text, "cluster_communication_matrix.json", 500, ())


def _analysed(capture: Path, tmp_path: Path) -> Path:
    """What the vendor's tool makes of a copy: it also writes into the capture."""
    copy = shutil.copytree(capture, tmp_path / "copy")
    for path in [copy, *copy.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    command = [_MSPROF, "cluster", "-m", "all", "-d", copy, "-o", tmp_path / "vendor"]
    subprocess.run([*map(str, command)], check=True, capture_output=True, timeout=HANGS_AFTER_S, cwd="/")
    return tmp_path / "vendor" / FOLDER


@pytest.mark.skipif(not _MSPROF.exists(), reason="needs msprof-analyze in .venv-vendor (make test)")
def test_values_of_a_real_capture_are_those_that_msprof_analyze_writes(shared_data: Path, tmp_path: Path) -> None:
    """Two of eight ranks, as text. Their links with ranks without files are in ours alone."""
    capture = shared_data / "ascend" / "text_level1"
    theirs = _analysed(capture, tmp_path)
    ours = exported(stepscope.load(capture, store=tmp_path / "cache", progress=False), tmp_path / "ours")

    steps, their_steps = step_rows(ours), step_rows(theirs)
    assert steps.keys() == their_steps.keys()
    for key, row in their_steps.items():
        for column, value in row.items():
            # Their microseconds since 1970 are floats, which are a quarter of a microsecond apart.
            near = pytest.approx(float(value), abs=0.25) if column not in ("Step", "Type", "Index") else value
            assert (steps[key][column] if isinstance(near, str) else float(steps[key][column])) == near
    for file in ("cluster_communication.json", "cluster_communication_matrix.json"):
        own, other = (dict(leaves(document(folder / file))) for folder in (ours, theirs))
        assert other.keys() <= own.keys()
        # What only ours has are links with ranks that were not captured.
        assert all(max(map(int, path[-2].split("-"))) > 1 for path in own.keys() - other.keys())
        for path, value in other.items():
            if path[-1] != "Op Name":  # not kept
                # Ours are whole nanoseconds.
                assert own[path] == (pytest.approx(value, rel=1e-9, abs=2e-6) if isinstance(value, float) else value)


@pytest.mark.skipif(not _MSPROF.exists(), reason="needs msprof-analyze in .venv-vendor (make test)")
def test_values_of_a_real_capture_as_databases_are_those_of_msprof_analyze(shared_data: Path, tmp_path: Path) -> None:
    capture = shared_data / "ascend" / "db_level1"
    theirs = sqlite3.connect(_analysed(capture, tmp_path) / "cluster_analysis.db")
    ours = exported(stepscope.load(capture, store=tmp_path / "cache", progress=False), tmp_path / "ours")

    columns = 'step, type, "index", computing, communication_not_overlapped, overlapped, communication, free, preparing'
    names = ["Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Preparing"]
    rows = theirs.execute(f"SELECT {columns} FROM ClusterStepTraceTime").fetchall()
    assert len(rows) == 2
    steps = step_rows(ours)
    for step, kind, index, *values in rows:
        own = steps[step, kind, index]
        assert [float(own[name]) for name in names] == pytest.approx(values, abs=1e-3)

    (links,) = document(ours / "cluster_communication_matrix.json").values()
    query = "SELECT step, hccl_op_name, src_rank, dst_rank, transport_type, transit_size, transit_time "
    rows = theirs.execute(f"{query} FROM ClusterCommunicationMatrix").fetchall()
    assert len(rows) > 20
    for step, name, source, target, transport, size, time in rows:
        (entry,) = (links[step][key] for key in links[step] if key.partition("@")[0] == name)
        link = entry[f"{int(source)}-{int(target)}"]
        assert link["Transport Type"] == transport
        assert (link["Transit Size(MB)"], link["Transit Time(ms)"]) == pytest.approx((size, time), abs=2e-6)

    (calls,) = document(ours / "cluster_communication.json").values()
    query = (
        "SELECT step, rank_id, hccl_op_name, elapsed_time, transit_time, wait_time, synchronization_time, idle_time "
    )
    rows = theirs.execute(f"{query} FROM ClusterCommunicationTime").fetchall()
    assert len(rows) >= 8
    parts = ("Elapse", "Transit", "Wait", "Synchronization", "Idle")
    for step, rank, name, *times in rows:
        (entry,) = (calls[step][key] for key in calls[step] if key.partition("@")[0] == name)
        own = entry[str(rank)]["Communication Time Info"]
        assert [own[f"{part} Time(ms)"] for part in parts] == pytest.approx(times, abs=2e-6)


def _same_values(ours: Path, theirs: Path, file: str, least: int, may_differ: tuple[str, ...]) -> None:
    """The same keys everywhere and the same values. What may differ is listed in docs/export.md."""
    own, other = (dict(leaves(document(folder / file))) for folder in (ours, theirs))
    assert own.keys() == other.keys()
    assert len(own) > least
    for path, value in other.items():
        if path[-1] not in may_differ:
            assert own[path] == (pytest.approx(value, rel=1e-6, abs=1e-9) if isinstance(value, float) else value), path
    differing = [path for path, value in other.items() if path[-1] == "Transport Type" and own[path] != value]
    # Sends and receives of one link are recorded under different transports; the tool keeps the one it met last.
    assert all("Total Op Info" in path[2] for path in differing)


def test_a_run_of_other_devices_gives_the_same_files(tmp_path: Path) -> None:
    simulate(small(GPU, plan=Plan(dp=2, pp=2, micro_batches=2), steps=2), tmp_path / "run", detail="steps")
    run = stepscope.load(tmp_path / "run")
    folder = exported(run, tmp_path / "out")

    rows = step_rows(folder)
    assert {(kind, index) for _, kind, index in rows} == {
        *(("rank", str(rank)) for rank in range(4)),
        ("stage", "(0, 1)"),
        ("stage", "(2, 3)"),
    }
    for (step, kind, index), row in rows.items():
        if kind == "stage":
            own = [float(rows[step, "rank", rank]["Computing"]) for rank in index.strip("()").split(", ")]
            assert float(row["Computing"]) == max(own)
    calls = document(folder / "cluster_communication.json")
    assert set(calls) >= {"(0, 1)", "(2, 3)", "(0, 1, 2, 3)"}
    took = sum(
        info["Communication Time Info"]["Elapse Time(ms)"]
        for steps in calls.values()
        for named in steps.values()
        for name, ranks in named.items()
        if name.startswith("Total")
        for info in ranks.values()
    )
    truth = sum(operation.total_us or 0 for operation in run.communication().operations)
    assert took == pytest.approx(truth / 1000, rel=1e-9)


def test_a_capture_without_work_or_communication_says_so(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace.json", [counter("queue", "1", 3), counter("queue", "2", 4)])
    with pytest.raises(NoAnswerError):
        exported(stepscope.load(trace, store=tmp_path / "cache"), tmp_path / "out")
