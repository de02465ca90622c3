"""Communication of real jobs: Ascend ranks that wait for one without files, and four ranks over gloo."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import stepscope
from stepscope.analysis.communication.types import Communication
from support.limits import HANGS_AFTER_S
from support.recordings import capture_of, facts_of

_TOOL = Path(
    os.environ.get("STEPSCOPE_MSPROF_ANALYZE", Path(__file__).parents[3] / ".venv-vendor" / "bin" / "msprof-analyze")
)


def _roots(data: Communication) -> dict[int, float]:
    totals: dict[int, float] = {}
    for row in data.waits:
        totals[row.root] = totals.get(row.root, 0.0) + row.wait_us
    return totals


# Sums of the notify waits for that peer in the files themselves, in seconds.
@pytest.mark.parametrize(("capture", "absent"), [("text_level1", 5), ("db_level1", 6)])
def test_the_absent_rank_for_which_all_wait_a_tenth_of_a_second_is_named(
    shared_data: Path, capture: str, absent: int
) -> None:
    run = stepscope.load(shared_data / "ascend" / capture, progress=False)
    assert absent not in run.ranks
    longest = {row.rank: row for row in reversed(run.communication().waits)}
    assert {rank: row.blames for rank, row in longest.items()} == {0: absent, 1: absent}
    assert all(90_000 < row.wait_us < 105_000 for row in longest.values())


@pytest.mark.skipif(not _TOOL.exists(), reason="needs msprof-analyze in .venv-vendor, which make test installs")
def test_links_and_times_are_those_of_msprof_analyze(shared_data: Path, tmp_path: Path) -> None:
    capture = shared_data / "ascend" / "text_level1"
    copy = shutil.copytree(capture, tmp_path / "capture")
    for path in [copy, *copy.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    command = [str(_TOOL), "cluster", "-m", "all", "-d", str(copy), "-o", str(tmp_path / "out")]
    subprocess.run(command, check=True, capture_output=True, timeout=HANGS_AFTER_S, cwd="/")
    data = stepscope.load(capture, progress=False).communication()

    (steps,) = json.loads(next(tmp_path.rglob("cluster_communication_matrix.json")).read_text("utf-8")).values()
    (total,) = (entry for key, entry in steps["step50"].items() if key.startswith("allreduce-total"))
    ours = {f"{link.rank}-{link.peer}": link for link in data.matrix}
    for ends in ("0-1", "1-0"):
        assert ours[ends].transport == total[ends]["Transport Type"]
        assert ours[ends].bytes == round(total[ends]["Transit Size(MB)"] * 1e6)
        assert ours[ends].time_us == pytest.approx(total[ends]["Transit Time(ms)"] * 1000, abs=0.01)
        assert ours[ends].gb_per_s == pytest.approx(total[ends]["Bandwidth(GB/s)"], abs=1e-4)

    (steps,) = json.loads(next(tmp_path.rglob("cluster_communication.json")).read_text("utf-8")).values()
    (theirs,) = (entry for key, entry in steps["step50"].items() if key.startswith("Total Op Info"))
    times = [rank["Communication Time Info"] for rank in theirs.values()]
    (operation,) = data.operations
    for field, column in (("total_us", "Elapse"), ("recorded_transit_us", "Transit"), ("recorded_wait_us", "Wait")):
        in_us = 1000 * sum(entry[f"{column} Time(ms)"] for entry in times)
        assert getattr(operation, field) == pytest.approx(in_us, abs=0.1)


@pytest.mark.parametrize("name", ["four_ranks_cpu_slow_compute", "four_ranks_cuda_slow_data"])
def test_most_waiting_goes_back_to_the_slow_rank_of_four(name: str, tmp_path: Path) -> None:
    totals = _roots(stepscope.load(capture_of(name, tmp_path), progress=False).communication())
    assert [max(totals, key=lambda rank: totals[rank])] == facts_of(name)["fault"]["ranks"]


def test_the_slow_one_of_four_ranks_over_gloo_is_named(shared_data: Path) -> None:
    run = stepscope.load(shared_data / "kineto" / "ddp4", progress=False)
    totals = _roots(run.communication())
    slow = max(totals, key=lambda rank: totals[rank])
    # It computes longest, as its own trace says.
    computing = {entry.rank: entry.computing_us or 0.0 for entry in run.summary().ranks}
    assert slow == max(computing, key=lambda rank: computing[rank])
    assert totals[slow] > 0.9 * sum(totals.values())
