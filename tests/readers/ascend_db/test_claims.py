"""Which directories and files are captures in database form."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from readers.ascend_db_builder import (
    GROUP,
    Builder,
    Read,
    claimed,
    rank_directory,
    small_run,
)
from stepscope.readers import ascend_db


# What is found
def test_a_rank_directory_is_one_source_with_all_its_files(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path, small_run(), rank=5)
    summary = Builder()
    summary.add("StepTraceTime", step="7", computing=1)
    summary.write(directory / "ASCEND_PROFILER_OUTPUT" / "analysis.db", only=["StepTraceTime"])
    [source] = claimed(directory)
    assert (source.reader, source.rank, source.form, source.path) == ("ascend_db", 5, "db", directory)
    assert (source.worker, source.span) == (f"host_{4005}", 20250109123456789)
    assert [path.name for path in source.files] == [
        "ascend_pytorch_profiler_5.db",
        "analysis.db",
        "profiler_info_5.json",
    ]
    # Filled tables that carry data: PYTORCH_API, CANN_API, TASK, COMMUNICATION_OP, COMPUTE_TASK_INFO,
    # COMMUNICATION_TASK_INFO, MEMCPY_INFO, TASK_PMU_INFO, CONNECTION_IDS, PYTORCH_CALLCHAINS, STEP_TIME; StepTraceTime.
    assert source.completeness == 1012  # and a timeline


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("ascend_pytorch_profiler_4.db", 4),
        ("ascend_mindspore_profiler_4.db", 4),
        ("ascend_mindspore_profiler.db", 3),  # from RANK_DEVICE_MAP
        ("msprof_20250109123456.db", 3),
        ("msmonitor_77_20250109123456789_6.db", 6),
        ("msmonitor_77_20250109123456789_-1.db", 3),
        ("renamed by hand.db", 3),
    ],
)
def test_databases_are_known_by_name_or_content_and_say_their_rank(tmp_path: Path, name: str, rank: int) -> None:
    path = small_run().write(tmp_path / name)
    source = ascend_db.claim_file(path, path.read_bytes()[:100])
    assert source is not None and source.rank == rank and source.path == path
    if "renamed" not in name:
        assert [each.rank for each in claimed(tmp_path)] == [rank]
    assert Read(source, tmp_path / "out").slices(kind="kernel").height == 1


def test_a_folder_of_databases_is_one_source_each_and_a_lone_summary_is_noted(tmp_path: Path) -> None:
    for rank in (0, 1):
        small_run().write(tmp_path / f"ascend_pytorch_profiler_{rank}.db")
    shutil.copy(tmp_path / "ascend_pytorch_profiler_0.db", tmp_path / "analysis.db")
    sources = claimed(tmp_path)
    assert [source.rank for source in sources] == [0, 1]
    assert Read(sources[0], tmp_path / "out").note("db_summary_of_unknown_rank") == 1


def test_an_output_folder_named_directly_still_knows_its_rank_directory(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path, small_run(), rank=2)
    [source] = claimed(directory / "ASCEND_PROFILER_OUTPUT")
    assert source.rank == 2
    assert any(path.name == "profiler_info_2.json" for path in source.files)


def test_loose_databases_beside_rank_directories_do_not_hide_them(tmp_path: Path) -> None:
    rank_directory(tmp_path, small_run())
    small_run().write(tmp_path / "msmonitor_77_20250109123456789_0.db")
    assert claimed(tmp_path) == []


def test_of_several_msprof_exports_the_newest_is_read(tmp_path: Path) -> None:
    prof = tmp_path / "PROF_000001_20250109123456789_ABC"
    for stamp in ("20250109123456", "20250109130000"):
        small_run().write(prof / f"msprof_{stamp}.db")
    summary = Builder()
    summary.add("CommAnalyzerTime", hccl_op_name="hcom_allReduce__210_0_1", group_name=GROUP, transit_time=1)
    summary.write(prof / "analyze" / "communication_analyzer.db", only=["CommAnalyzerTime"])
    (prof / "device_0").mkdir()
    chip = {"rank_id": "11", "DeviceInfo": [{"ai_core_num": 24}]}
    (prof / "device_0" / "info.json.0").write_text(json.dumps(chip))
    [source] = claimed(prof)
    assert [path.name for path in source.files] == [
        "msprof_20250109130000.db",
        "communication_analyzer.db",
        "info.json.0",
    ]
    read = Read(source, tmp_path / "out")
    assert read.table("ranks").select("rank", "compute_units").rows() == [(11, 24)]
    assert read.note("db_export_older") == 1
    assert read.table("collectives")["transit_ns"].to_list() == [1_000_000]


def test_other_directories_are_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "some.db").write_bytes(b"no database")
    assert claimed(tmp_path) == []
    assert ascend_db.claim_file(tmp_path / "some.db", b"no database") is None
