"""Who meets whom in NDTimeline records, which name neither groups nor peers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import stepscope

LAST_STAGE = {6, 7}  # of the public job ST


def records(folder: Path, rows: list[tuple[int, int, int, str, float, float]]) -> Path:
    """One step of ``(dp, stage, rank, operation, start, duration)``."""
    columns = ["dp_rank", "stage", "rank", "optype", "start_ts", "duration"]
    pl.DataFrame(rows, columns, orient="row").with_columns(step=pl.lit(0)).write_parquet(folder / "trace.parquet")
    return folder / "trace.parquet"


def two_stages(dp: int, first: int, second: int) -> list[tuple[int, int, int, str, float, float]]:
    """The second stage is three seconds late for the activations, as the first one computes until then."""
    return [
        (dp, 0, first, "forward-compute", 0.0, 3.0),
        (dp, 0, first, "forward-send", 3.0, 0.5),
        (dp, 0, first, "optimizer-clip-main-grad", 4.0, 2.0),
        (dp, 1, second, "forward-recv", 0.0, 3.5),
        (dp, 1, second, "forward-compute", 3.5, 2.0),
        (dp, 1, second, "layernorm-grads-all-reduce", 5.5, 0.2),
        (dp, 1, second, "optimizer-clip-main-grad", 5.8, 0.2),
    ]


def test_neighbours_and_stages_of_a_line_meet(tmp_path: Path) -> None:
    path = records(tmp_path, two_stages(0, 0, 2) + two_stages(1, 1, 3))
    run = stepscope.load(path, progress=False)
    calls = run.table("collectives").with_columns(pl.col("name", "group").cast(pl.String)).collect()
    peers = calls.filter(pl.col("peer").is_not_null()).select("rank", "name", "peer").sort("rank").rows()
    assert peers == [(0, "forward-send", 2), (1, "forward-send", 3), (2, "forward-recv", 0), (3, "forward-recv", 1)]

    found = run.communication()
    waits = {(each.rank, each.blames, each.root): each.wait_us for each in found.waits}
    # 3.5 - 0.5 s for the activations, 2.0 - 0.2 s before clipping. Others of a tensor-parallel group have no records.
    assert waits == {(2, 0, 0): 3e6, (3, 1, 1): 3e6, (0, 2, 2): 1.8e6, (1, 3, 3): 1.8e6}
    assert {each.group: each.ranks for each in found.groups if each.members_known} == {
        "pp of dp 0": [0, 2],
        "pp of dp 1": [1, 3],
    }
    assert found.unjoined == []
    steps = dict(run.steps().select("rank", "receive_alone_us").iter_rows())
    assert steps == {0: 0.0, 1: 0.0, 2: 3.5e6, 3: 3.5e6}


def test_members_of_a_tensor_parallel_group_have_neighbours_of_their_own(tmp_path: Path) -> None:
    path = records(tmp_path, two_stages(0, 0, 2) + two_stages(0, 1, 3))
    waits = stepscope.load(path, progress=False).communication().waits
    assert {(each.rank, each.blames) for each in waits} == {(2, 0), (3, 1), (0, 2), (1, 3)}


def paired_waits(records: pl.DataFrame, rank: int) -> float:
    """Seconds in all steps in which a rank had begun a transfer that its neighbour had not, and did not compute."""
    place = {stage: 2 * stage + rank % 2 for stage in range(4)}  # rank numbers of this job
    stage = rank // 2
    towards = {"forward-send": 1, "forward-recv": -1, "backward-send": -1, "backward-recv": 1}
    other = {name: name[:-4] + ("recv" if name.endswith("send") else "send") for name in towards}
    seconds = 0.0
    for _, step in records.group_by("step"):
        starts = {
            (of, name, number): (start, length)
            for of, name, number, start, length in step.select(
                "rank", "optype", "seq_id", "start_ts", "duration"
            ).iter_rows()
        }
        grid = np.zeros(40_000, np.bool_)  # tenths of milliseconds of a step
        for (of, name, number), (start, _) in starts.items():
            if of == rank and name in towards:
                came = starts[place[stage + towards[name]], other[name], number][0]
                grid[round(start * 1e4) : round(max(came, start) * 1e4)] = True
        for (of, name, _), (start, length) in starts.items():
            if of == rank and name.endswith("-compute"):
                grid[round(start * 1e4) : round((start + length) * 1e4)] = False
        seconds += grid.sum() / 1e4
    return seconds


def test_a_real_pipeline_waits_for_its_last_stage(shared_data: Path) -> None:
    path = shared_data / "cluster" / "ndtimeline" / "trace-ST.parquet"
    rows = pl.read_parquet(path).with_columns(pl.col("optype").cast(pl.String), pl.col("rank").cast(pl.Int64))
    run = stepscope.load(path, progress=False)
    ranks = {each.rank: each for each in run.cluster().ranks}
    steps = rows["step"].n_unique()
    for rank in (0, 3, 7):
        expected = paired_waits(rows, rank) / steps * 1e6
        assert ranks[rank].pipeline_wait_us == pytest.approx(expected, rel=0.01)

    caused: dict[int, float] = {}
    for each in run.communication().waits:
        caused[each.root] = caused.get(each.root, 0.0) + each.wait_us
    assert set(sorted(caused, key=caused.__getitem__)[-2:]) == LAST_STAGE
    assert set(sorted(caused, key=caused.__getitem__)[:2]) == {0, 1}
