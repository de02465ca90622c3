"""Tools of others open simulated captures and report what the model knows."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.run import Run
from stepscope.simulate.scenario import FaultEntry, Host, Plan, Scenario
from stepscope.simulate.writing import simulate
from support.limits import HANGS_AFTER_S
from support.scenarios import GPU, NPU, small

_ROOT = Path(__file__).resolve().parents[2]
_MSPROF = Path(os.environ.get("STEPSCOPE_MSPROF_ANALYZE", _ROOT / ".venv-vendor" / "bin" / "msprof-analyze"))
_HTA = _ROOT / ".venv-hta" / "bin" / "python"
needs_msprof = pytest.mark.skipif(not _MSPROF.exists(), reason="needs msprof-analyze in .venv-vendor (make test)")
needs_hta = pytest.mark.skipif(not _HTA.exists(), reason="needs HolisticTraceAnalysis in .venv-hta (make test)")
SLOW = 5


def eight_ranks(**changes: Any) -> Scenario:
    fault = FaultEntry(kind="slow_rank", cause="compute", ranks=(SLOW,), strength=0.2)
    return small(NPU, plan=Plan(dp=8), steps=2, clocks="same", faults=(fault,), host=Host(ranks=8), **changes)


def written(scenario: Scenario, folder: Path, form: str) -> tuple[Path, Run]:
    """Its files, and the run straight from the store."""
    simulate(scenario, folder / "files", form=form)
    simulate(scenario, folder / "direct")
    (folder / "files" / "truth.json").unlink()  # the tool takes every JSON file for one of its own
    return folder / "files", stepscope.load(folder / "direct", progress=False)


def run_tool(command: list[object]) -> str:
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False, cwd="/"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_msprof
def test_the_cluster_analysis_of_text_reports_the_models_times(tmp_path: Path) -> None:
    files, run = written(eight_ranks(), tmp_path, "ascend-text")
    run_tool([_MSPROF, "cluster", "-m", "all", "-d", files, "-o", tmp_path / "out"])

    with next(tmp_path.rglob("cluster_step_trace_time.csv")).open(encoding="utf-8") as lines:
        rows = {(int(row["Index"]), int(row["Step"])): row for row in csv.DictReader(lines) if row["Type"] == "rank"}
    ours = {(row["rank"], row["step"]): row for row in run.steps().to_dicts()}
    assert rows.keys() == ours.keys()
    for key, row in rows.items():
        assert float(row["Computing"]) == pytest.approx(ours[key]["computing_us"], abs=0.01)
        assert float(row["Communication"]) == pytest.approx(ours[key]["communication_us"], abs=0.01)
    _check_waits(json.loads(next(tmp_path.rglob("cluster_communication.json")).read_text("utf-8")), run)
    _check_matrix(json.loads(next(tmp_path.rglob("cluster_communication_matrix.json")).read_text("utf-8")))


def _check_waits(communication: dict[str, Any], run: Run) -> None:
    """The slow rank waits for nobody, all others for it, as long as the model says."""
    waits = dict.fromkeys(run.ranks, 0.0)
    for steps in communication.values():
        for step, calls in steps.items():
            for name, ranks in calls.items():
                if name.startswith("hcom_") and step != "step":  # calls from before the window belong to no step
                    for rank, info in ranks.items():
                        waits[int(rank)] += info["Communication Time Info"]["Wait Time(ms)"]
    truth = run.table("collectives").drop_nulls("step").group_by("rank").agg(pl.col("wait_ns").sum()).collect()
    assert waits == pytest.approx({rank: wait / 1e6 for rank, wait in truth.iter_rows()}, abs=1e-3)
    assert min(waits, key=lambda rank: waits[rank]) == SLOW


def _check_matrix(matrix: dict[str, Any]) -> None:
    """Payload goes over the ring, at the rate of the scenario less latency."""
    links = [
        (link, entry)
        for steps in matrix.values()
        for calls in steps.values()
        for name, entries in calls.items()
        if name.startswith("allreduce-top1")
        for link, entry in entries.items()
        if entry["Transport Type"] == "HCCS" and entry["Transit Size(MB)"] > 1
    ]
    assert {link for link, _ in links} >= {f"{rank}-{(rank + 1) % 8}" for rank in range(8)}
    assert all(100 < entry["Bandwidth(GB/s)"] <= 200 for _, entry in links)


@needs_msprof
def test_the_cluster_analysis_of_mindspore_databases_reports_the_models_times(tmp_path: Path) -> None:
    files, run = written(eight_ranks(framework="mindspore"), tmp_path, "ascend-db")
    run_tool([_MSPROF, "cluster", "-m", "all", "-d", files, "-o", tmp_path / "out"])

    database = sqlite3.connect(next(tmp_path.rglob("cluster_analysis.db")))
    rows = database.execute(
        "SELECT CAST([index] AS INTEGER), SUM(computing) FROM ClusterStepTraceTime WHERE type = 'rank' GROUP BY 1"
    ).fetchall()
    database.close()
    # Its step is the whole window, with what was launched before it.
    kernels = (
        run.table("slices").filter(pl.col("kind") == "kernel").group_by("rank").agg(pl.col("dur_ns").sum()).collect()
    )
    assert dict(rows) == pytest.approx({rank: busy / 1000 for rank, busy in kernels.iter_rows()}, abs=0.5)


@needs_msprof
def test_comparing_the_slow_rank_with_another_shows_its_computing(tmp_path: Path) -> None:
    files, _ = written(eight_ranks(), tmp_path, "ascend-text")
    ranks = {int(path.name.split("_")[1]) - 4100: path for path in files.glob("*_ascend_pt")}
    said = run_tool([_MSPROF, "compare", "-d", ranks[SLOW], "-bp", ranks[0], "-o", tmp_path / "out"])

    assert "Computing Time" in said
    assert list((tmp_path / "out").glob("*.xlsx"))


@needs_hta
def test_holistic_trace_analysis_gives_the_models_compute_time(tmp_path: Path) -> None:
    scenario = small(GPU, plan=Plan(dp=2), steps=2, clocks="same")
    simulate(scenario, tmp_path / "files", form="kineto")
    simulate(scenario, tmp_path / "direct")
    script = Path(__file__).with_name("hta_breakdown.py")
    pairs = [f"{rank}={tmp_path / 'files' / f'rank{rank}.json.gz'}" for rank in (0, 1)]
    rows = json.loads(run_tool([_HTA, script, *pairs]).splitlines()[-1])

    run = stepscope.load(tmp_path / "direct", progress=False)
    in_steps = run.table("slices").filter((pl.col("kind") == "kernel") & pl.col("step").is_not_null())
    kernels = in_steps.group_by("rank").agg(busy_us=pl.col("dur_ns").sum() / 1000, count=pl.len()).collect()
    theirs = {row["rank"]: row["compute_time(us)"] for row in rows}
    for rank, busy_us, count in kernels.iter_rows():
        assert busy_us - 2 * count <= theirs[rank] <= busy_us  # it cuts both times of a kernel to whole microseconds
