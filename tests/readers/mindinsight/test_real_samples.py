"""Real directories: complete row by row, and the vendor's sums."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from readers.mindinsight.read_directories import Read, claim, read_source, reported
from support.rank_tables import Tables
from support.samples import SHARED_DATA

SAMPLES = SHARED_DATA / "mindinsight"


needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="needs the shared captures")


def sample(folder: str, rank: int, out: Path) -> Read:
    source = next(source for source in claim(SAMPLES / folder) if source.rank == rank)
    return read_source(source, out)


def table_of(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 30)
    with path.open(newline="") as file:
        return list(csv.DictReader(file, skipinitialspace=True))


@needs_samples
@pytest.mark.parametrize(("folder", "rank"), [("profiler", 0), ("profiler", 10), ("run_2/profiler", 1)])
def test_every_step_and_call_of_a_real_step_trace_is_there(tmp_path: Path, folder: str, rank: int) -> None:
    tables, counts = sample(folder, rank, tmp_path)
    check_step_trace(tables, counts, SAMPLES / folder / f"step_trace_raw_{rank}_detail_time.csv")


def check_step_trace(tables: Tables, counts: dict[str, int], path: Path) -> None:
    rows = table_of(path)[:-1]
    assert tables["steps"].select(
        "step", "host_start_ns", "host_end_ns", "forward_start_ns", "backward_end_ns"
    ).rows() == [
        tuple(int(row[column]) * (1 if place == 0 else 10) for place, column in enumerate(columns))
        for row in rows
        for columns in [("step_num", "start_point", "end_point", "fp_point", "bp_point")]
    ]
    names = [name for name in rows[0] if f"{name}_start_point" in rows[0]]
    spans = [
        (int(row[f"{name}_start_point"]) * 10, int(row[f"{name}_end_point"]) * 10) for row in rows for name in names
    ]
    present = [span for span in spans if span != (0, 0)]
    assert counts.get("step_trace_call_absent", 0) == len(spans) - len(present)
    if present:
        assert sorted(tables["collectives"].select("start_ns", "end_ns").rows()) == sorted(present)


@needs_samples
def test_a_real_directory_is_complete_row_by_row(tmp_path: Path) -> None:
    tables, counts = sample("run_2/profiler", 1, tmp_path)
    directory = SAMPLES / "run_2" / "profiler"
    tasks = [line.rsplit(",", 3) for line in (directory / "output_timeline_data_1.txt").read_text().splitlines()[1:]]
    expected = sorted((name, int(Decimal(start) * 10**6), int(Decimal(dur) * 10**6)) for name, _, start, dur in tasks)
    kernels = tables["slices"].filter(pl.col("core") == "AI_CORE")
    assert sorted(kernels.select("name", "start_ns", "dur_ns").rows()) == expected and len(expected) == 107
    log = (directory / "output_format_data_hwts_1.txt").read_text().splitlines()
    starts, ends = sum(line.startswith("Start") for line in log), sum(line.startswith("End") for line in log)
    scheduling = tables["slices"].filter(pl.col("kind") == "sync").height
    assert counts["hwts_tasks_of_operators"] + scheduling == ends == 132
    assert counts["hwts_start_without_end"] == starts - ends == 4
    aicpu = [
        (int(row["run_start"]) * 1000, int(row["run_end"]) * 1000)
        for row in table_of(directory / "aicpu_intermediate_1.csv")
    ]
    found = tables["slices"].filter(pl.col("core") == "AI_CPU").sort("start_ns")
    assert [(start, start + dur) for start, dur in found.select("start_ns", "dur_ns").rows()] == aicpu
    assert (
        counts["timeline_copies"] == len(json.loads((directory / "ascend_timeline_display_1.json").read_text())) == 112
    )
    for name, columns in (("aicore_intermediate_1_detail.csv", 1), ("aicore_intermediate_1_type.csv", 3)):
        assert len(reported(tables, name)) == len(table_of(directory / name)) * columns
    assert len(reported(tables, "output_op_compute_time_1.txt")) == 2 * 106
    assert len(reported(tables, "output_op_compute_time_detail_1.txt")) == 3 * 21 + 105
    assert "operator_facts_unused" not in counts  # all 105 rows of framework_raw describe a slice
    assert tables["ranks"]["compute_recorded"].to_list() == [True]
    assert kernels["input_shapes"].null_count() == 0


@needs_samples
def test_the_vendors_sums_are_those_of_our_slices(tmp_path: Path) -> None:
    tables, _ = sample("run_2/profiler", 1, tmp_path)
    ours = tables["slices"].filter(pl.col("core") == "AI_CORE").group_by("name").agg(pl.col("dur_ns").mean())
    theirs = {key: value for _, key, _, value in reported(tables, "aicore_intermediate_1_detail.csv")}
    assert len(ours) == len(theirs) == 105
    for name, mean in ours.iter_rows():
        assert mean / 10**6 == pytest.approx(theirs[name], abs=1e-9)


@needs_samples
@pytest.mark.parametrize("rank", range(4))
def test_a_real_cluster_is_complete(tmp_path: Path, rank: int) -> None:
    tables, counts = sample("cluster_pipeline4", rank, tmp_path)
    directory = SAMPLES / "cluster_pipeline4"
    check_step_trace(tables, counts, directory / f"step_trace_raw_{rank}_detail_time.csv")
    payloads: list[tuple[int, str, int, int]] = []
    waits: list[tuple[int, str, int]] = []
    for row in table_of(directory / f"hccl_raw_{rank}.csv"):
        if row["step_num"] == "-":
            continue
        for name, (_, _, wait, links) in json.loads(row["communication_operator_cost"], parse_float=Decimal).items():
            waits.append((int(row["step_num"]), name, round(Decimal(wait) * 10**6)))
            for transports in links.values():
                for time, size, _ in transports.values():
                    payloads.append((int(row["step_num"]), name, round(size * 1000), round(time * 10**6)))
    transfers = tables["transfers"]
    payload = transfers.filter(pl.col("kind") == "payload").select("step", "call", "bytes", "time_ns").rows()
    assert sorted(payload) == sorted(payloads)
    assert sorted(transfers.filter(pl.col("kind") == "wait").select("step", "call", "time_ns").rows()) == sorted(waits)
    inside = set(transfers.filter(pl.col("peer").is_not_null())["peer"].to_list())
    assert inside == ({0, 1} if rank < 2 else {2, 3})
    assert tables["ranks"].select("world_size", "pp").rows() == [(4, rank // 2)]
    cluster = table_of(directory / f"ascend_cluster_analyse_pipeline-parallel_2_4_{rank}.csv")
    rows = reported(tables, f"ascend_cluster_analyse_pipeline-parallel_2_4_{rank}.csv")
    assert len(rows) == len(cluster) * 5 and [row[3] for row in rows] == [
        float(cell) for row in cluster for cell in row.values()
    ]
    # For the vendor, computation and communication alone add up to the step: an independent check of the unit.
    for place, step in enumerate(tables["steps"].iter_rows(named=True)):
        total = float(cluster[place]["computation_time"]) + float(cluster[place]["communication_alone_time"])
        assert total * 10**6 == pytest.approx(step["host_end_ns"] - step["host_start_ns"], rel=1e-2)


@needs_samples
def test_all_other_files_of_the_first_sample_are_there(tmp_path: Path) -> None:
    first, counts = sample("profiler", 0, tmp_path / "0")
    directory = SAMPLES / "profiler"
    shapes = json.loads((directory / "dynamic_shape_info_0.json").read_text())
    runs = [run["dur"] for step in shapes["operator"].values() for run in step]
    found = [row for row in reported(first, "dynamic_shape_info_0.json") if row[2] == "operator.dur"]
    assert [row[3] for row in found] == runs
    sums = [value for step in shapes["operator_type"].values() for values in step.values() for value in values]
    assert sorted(
        row[3] for row in reported(first, "dynamic_shape_info_0.json") if "operator_type" in row[2]
    ) == sorted(sums)
    links = json.loads((directory / "flops_scope_0.json").read_text())["data"]["links"]
    assert len(reported(first, "flops_scope_0.json")) == len(links) + 1 and "flops_scope_without_link" not in counts
    assert len(reported(first, "flops_0.txt")) == 4 * 3
    assert counts["operator_facts_unused"] == len(table_of(directory / "framework_raw_0.csv"))
    assert counts["event_far_away"] == 2  # a GPU timeline among an Ascend device's files, decades away
    second, counts = sample("profiler", 1, tmp_path / "1")
    assert (
        len(reported(second, "flops_1.txt")) == 10 * 6
        and len(reported(second, "aicore_intermediate_1_type.csv")) == 5 * 3
    )
    assert len(reported(second, "aicore_intermediate_1_detail.csv")) == 10 * 2
    assert counts["operator_facts_unused"] == 10
    for rank in (0, 1):
        tables, _ = sample("parallel_strategy", rank, tmp_path / f"strategy{rank}")
        assert tables["groups"].select("group", "ranks").rows() == [("stage 0", [0, 1])]
        strategy = [row[3] for row in reported(tables, f"parallel_strategy_{rank}.json") if "gen_strategy" in row[2]]
        assert strategy == [2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
