"""A real capture: every row of it, and the sums that the vendor made."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import polars as pl
import pytest

from readers.ascend_db.built_databases import fingerprints
from readers.ascend_db_builder import (
    Read,
    claimed,
)
from stepscope.readers.discovery.source import Source
from support.samples import SHARED_DATA

SAMPLES = SHARED_DATA / "ascend" / "db_level1"


needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="needs the shared captures")


# Real captures
def _sample(rank: int) -> tuple[Source, sqlite3.Connection]:
    directory = SAMPLES / f"rank{rank}_ascend_pt"
    [source] = claimed(directory)
    path = directory / "ASCEND_PROFILER_OUTPUT" / f"ascend_pytorch_profiler_{rank}.db"
    return source, sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)


@needs_samples
@pytest.mark.parametrize("rank", [0, 1])
def test_every_row_of_a_real_capture_is_in_a_table_or_in_a_note(tmp_path: Path, rank: int) -> None:
    source, connection = _sample(rank)
    read = Read(source, tmp_path)
    counts = {
        name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    }
    slices = read.table("slices").height
    assert slices == sum(counts.pop(name) for name in ("PYTORCH_API", "CANN_API", "TASK", "COMMUNICATION_OP"))
    assert read.slices(kind="kernel").height == counts["COMPUTE_TASK_INFO"]
    pmu = read.table("pmu").filter(~pl.col("metric").cast(pl.String).is_in(["Block Dim", "Mix Block Dim"]))
    assert pmu.height == counts.pop("TASK_PMU_INFO")
    assert read.table("pmu").height - pmu.height == 2 * counts.pop("COMPUTE_TASK_INFO")
    on_planes = read.table("tracks").filter(pl.col("name").str.starts_with("Plane"))["track"]
    parts = read.table("slices").filter(pl.col("track").is_in(on_planes.to_list()))
    assert parts.height == counts.pop("COMMUNICATION_TASK_INFO")
    signals = parts.filter(pl.col("name").cast(pl.String) == "Notify_Record").height
    assert read.table("transfers").height == parts.height - signals
    stated = connection.execute("SELECT count(*) FROM CONNECTION_IDS WHERE connectionId > 9000").fetchone()[0]
    links = dict(read.table("links").group_by("kind").len().select(pl.col("kind").cast(pl.String), "len").iter_rows())
    # Each connection of the framework itself joins two calls; each of CANN joins a call with its task.
    assert links["queue"] + links["forward_backward"] == stated // 2
    assert links["operator_launch"] == counts.pop("CONNECTION_IDS") - stated
    assert links["launch"] == 550 + 4
    chains = connection.execute("SELECT count(DISTINCT id) FROM PYTORCH_CALLCHAINS").fetchone()[0]
    own = read.table("slices").filter(pl.col("kind").cast(pl.String).is_in(["operator", "step"]))["stack"]
    assert own.len() - own.null_count() >= chains
    frames = read.table("stacks")["frames"].str.count_matches("\n").sum() + read.table("stacks").height
    deduplicated = connection.execute(
        "SELECT sum(n) FROM (SELECT DISTINCT n, g FROM (SELECT count(*) AS n, group_concat(stack) AS g"
        " FROM PYTORCH_CALLCHAINS GROUP BY id))"
    ).fetchone()[0]
    assert frames == deduplicated
    assert counts.pop("PYTORCH_CALLCHAINS") > 0
    process = connection.execute(
        "SELECT count(*) FROM NPU_MEM JOIN STRING_IDS ON id = type WHERE value = 'app'"
    ).fetchone()[0]
    assert read.table("memory").height == counts.pop("MEMORY_RECORD") + counts.pop("NPU_MODULE_MEM") + process
    assert read.table("allocations").height == counts.pop("OP_MEMORY")
    assert read.note("db_rows_repeat_table") == counts.pop("NPU_OP_MEM")
    addresses = read.table("allocations")["address"].drop_nulls().len()
    assert (
        addresses
        == connection.execute(
            "SELECT count(*) FROM NPU_OP_MEM JOIN STRING_IDS ON id = type WHERE value = 'allocate'"
        ).fetchone()[0]
    )
    per_row = {"HBM": 1, "LLC": 2, "ACC_PMU": 4, "SOC_BANDWIDTH_LEVEL": 2, "AICORE_FREQ": 1, "NPU_MEM": 2}
    assert read.table("counters").height == sum(counts.pop(name) * times for name, times in per_row.items())
    assert read.table("steps").height == counts.pop("STEP_TIME")
    assert read.table("ranks").height == 1
    for name in list(counts):
        if name.startswith("ENUM_") or name in ("STRING_IDS", "META_DATA", "SESSION_TIME_INFO", "HOST_INFO"):
            counts.pop(name)
    assert counts.pop("NPU_INFO") == counts.pop("RANK_DEVICE_MAP") == 1
    # What is left was put there by a viewer, and is counted.
    assert {name: read.note("db_table_foreign", table=name) for name in counts} == counts
    connection.close()


@needs_samples
@pytest.mark.parametrize("rank", [0, 1])
def test_the_vendors_step_split_follows_from_our_slices_exactly(tmp_path: Path, rank: int) -> None:
    source, connection = _sample(rank)
    connection.close()
    read = Read(source, tmp_path)
    vendor = dict(
        read.table("reported")
        .filter(pl.col("key").is_null())
        .select(pl.col("metric").cast(pl.String), "value")
        .iter_rows()
    )

    def union(kind: str) -> list[tuple[int, int]]:
        merged: list[tuple[int, int]] = []
        for start, dur in sorted(read.slices(kind=kind).select("start_ns", "dur_ns").iter_rows()):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(merged[-1][1], start + dur)
            else:
                merged.append((start, start + dur))
        return merged

    computing, communication = union("kernel"), union("collective")
    both = sum(
        max(0, min(end, other_end) - max(start, other))
        for start, end in computing
        for other, other_end in communication
    )
    total, exposed = (sum(end - start for start, end in parts) for parts in (computing, communication))
    edges = [edge for part in (*computing, *communication) for edge in part]
    assert total == round(vendor["Computing"] * 1000)
    assert exposed == round(vendor["Communication"] * 1000)
    assert both == round(vendor["Overlapped"] * 1000)
    assert max(edges) - min(edges) == round(vendor["Stage"] * 1000)
    assert max(edges) - min(edges) - total - exposed + both == round(vendor["Free"] * 1000)
    step = read.table("steps").row(0, named=True)
    assert min(edges) - step["host_start_ns"] == round(vendor["Preparing"] * 1000)


@needs_samples
@pytest.mark.parametrize("rank", [0, 1])
def test_the_vendors_link_totals_follow_from_our_transfers(tmp_path: Path, rank: int) -> None:
    source, connection = _sample(rank)
    connection.close()
    read = Read(source, tmp_path)
    summary = sqlite3.connect(f"file:{source.files[1]}?mode=ro&immutable=1", uri=True)
    rows = summary.execute(
        "SELECT dst_rank, transit_size FROM CommAnalyzerMatrix WHERE hccl_op_name LIKE '%-total'"
    ).fetchall()
    summary.close()
    moved = read.table("transfers").filter(pl.col("kind").cast(pl.String).is_in(["payload", "reduce"]))
    # The vendor counts what has no other end as moved within the rank.
    ours = dict(moved.group_by(pl.col("peer").fill_null(rank)).agg(pl.col("bytes").sum()).iter_rows())
    assert {int(peer): round(size * 1e6) for peer, size in rows} == ours


@needs_samples
@pytest.mark.parametrize("rank", [0, 1])
def test_waits_name_the_rank_that_was_waited_for(tmp_path: Path, rank: int) -> None:
    source, connection = _sample(rank)
    expected = dict(
        connection.execute(
            "SELECT k.dstRank, sum(t.endNs - t.startNs) FROM COMMUNICATION_TASK_INFO k JOIN TASK t USING (globalTaskId)"
            " JOIN STRING_IDS s ON s.id = k.taskType WHERE s.value = 'Notify_Wait' GROUP BY 1"
        ).fetchall()
    )
    connection.close()
    waits = Read(source, tmp_path).table("transfers").filter(pl.col("kind").cast(pl.String) == "wait")
    ours = dict(waits.group_by("peer").agg(pl.col("time_ns").sum()).iter_rows())
    assert ours == expected
    assert max(ours, key=ours.__getitem__) == 6  # both wait for rank 6, whose own files are not there


@needs_samples
def test_real_times_are_those_of_the_file_to_the_nanosecond(tmp_path: Path) -> None:
    source, connection = _sample(0)
    read = Read(source, tmp_path)
    tasks = connection.execute("SELECT startNs, endNs - startNs FROM TASK").fetchall()
    calls = connection.execute(
        "SELECT CAST(startNs AS INTEGER), CAST(endNs AS INTEGER) - CAST(startNs AS INTEGER) FROM PYTORCH_API"
    ).fetchall()
    cann = connection.execute("SELECT startNs, endNs - startNs FROM CANN_API").fetchall()
    whole = connection.execute("SELECT startNs, endNs - startNs FROM COMMUNICATION_OP").fetchall()
    connection.close()
    ours = read.table("slices").select("start_ns", "dur_ns").rows()
    assert sorted(ours) == sorted([*tasks, *calls, *cann, *whole])


@needs_samples
def test_real_counters_match_the_database(tmp_path: Path) -> None:
    source, connection = _sample(0)
    read = Read(source, tmp_path)
    expected = connection.execute(
        "SELECT t.startNs, s.value, p.value FROM TASK_PMU_INFO p JOIN TASK t USING (globalTaskId)"
        " JOIN STRING_IDS s ON s.id = p.name WHERE s.value IN ('aic_mac_ratio', 'aiv_vec_time', 'aic_total_time')"
    ).fetchall()
    connection.close()
    names = {"aic_mac_ratio": ("aic_mac_ratio", 1), "aiv_vec_time": ("aiv_vec_time(us)", 1000)}
    names["aic_total_time"] = ("aicore_time(us)", 1000)
    ours = read.table("pmu").join(read.table("slices").select("slice", "start_ns"), on="slice")
    wanted = [name for name, _ in names.values()]
    ours = ours.with_columns(pl.col("metric").cast(pl.String)).filter(pl.col("metric").is_in(wanted))
    theirs = sorted((start, names[name][0], value / names[name][1]) for start, name, value in expected)
    found = sorted(ours.select("start_ns", "metric", "value").rows())
    assert [row[:2] for row in found] == [row[:2] for row in theirs]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in theirs], rel=1e-14)


@needs_samples
def test_reading_real_captures_leaves_them_untouched(tmp_path: Path) -> None:
    before = fingerprints(SAMPLES)
    for rank in (0, 1):
        source, connection = _sample(rank)
        connection.close()
        Read(source, tmp_path / str(rank))
    assert fingerprints(SAMPLES) == before
