"""NDTimeline records: every line of the file is a rank with its stage; steps stand one behind another."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import stepscope


def write_records(folder: Path) -> Path:
    rows = [
        {"dp_rank": dp, "stage": stage, "rank": 4 * stage + 2 * dp, "step": step, "optype": name}
        | {"start_ts": start, "duration": 0.5}
        for dp in (0, 1)
        for stage in (0, 1)
        for step in (10, 20)
        for start, name in ((0.0, "forward-compute"), (0.5, "backward-compute"), (1.0, "grads-reduce-scatter"))
    ]
    narrow = {"start_ts": pl.Float32, "duration": pl.Float32}
    pl.DataFrame(rows, schema_overrides=narrow).write_parquet(folder / "trace-job.parquet")
    (folder / "meta-job.yaml").write_text("dp_size: 2\npp_size: 2\nworld_size: 8\n", "utf-8")
    return folder / "trace-job.parquet"


def test_ranks_slices_calls_and_steps(tmp_path: Path) -> None:
    run = stepscope.load(write_records(tmp_path), progress=False)
    ranks = run.table("ranks").select("rank", "dp", "pp", "world_size").collect().sort("rank")
    assert ranks.rows() == [(0, 0, 0, 8), (2, 1, 0, 8), (4, 0, 1, 8), (6, 1, 1, 8)]
    own = run.table("slices").filter(pl.col("rank") == 4).collect().sort("start_ns")
    half = 500_000_000
    assert own["start_ns"].to_list() == [half * place for place in range(6)]
    assert own["step"].to_list() == [10, 10, 10, 20, 20, 20]
    assert own["kind"].cast(pl.String).to_list() == 2 * ["kernel", "kernel", "collective"]
    calls = run.table("collectives").filter(pl.col("rank") == 4).collect()
    assert calls["kind"].cast(pl.String).to_list() == 2 * ["reduce_scatter"]
    assert run.steps().filter(pl.col("rank") == 4)["period_us"].to_list() == [1.5e6, 1.5e6]


def test_a_plan_that_no_number_can_hold_is_none(tmp_path: Path) -> None:
    records = write_records(tmp_path)
    (tmp_path / "meta-job.yaml").write_text(f"world_size: {'1' * 40}\n", "utf-8")
    assert stepscope.load(records, progress=False).ranks == [0, 2, 4, 6]


def test_records_without_a_value_are_counted(tmp_path: Path) -> None:
    records = write_records(tmp_path)
    rows = pl.read_parquet(records)
    late = pl.when(pl.int_range(pl.len()) == 0).then(float("inf")).otherwise("start_ts")
    rows.with_columns(start_ts=late).write_parquet(records)
    run = stepscope.load(records, progress=False)
    assert run.sql("SELECT count(*) FROM slices").item() == len(rows) - 1
    assert [note.count for note in run.notes if note.code == "ndtimeline_records_unreadable"] == [1]


def test_two_jobs_in_one_folder_are_two_windows(tmp_path: Path) -> None:
    first = write_records(tmp_path)
    first.with_name("trace-other.parquet").write_bytes(first.read_bytes())
    run = stepscope.load(tmp_path, progress=False)
    assert sorted(run.windows) == ["trace-job", "trace-other"]
    assert run.ranks == [0, 2, 4, 6]
