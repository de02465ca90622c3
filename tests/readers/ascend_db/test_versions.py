"""Devices, levels, frameworks and versions of the schema: what is there is read, what is missing is noted."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from readers.ascend_db.built_databases import read_file
from readers.ascend_db_builder import (
    NONE,
    NS,
    TABLES,
    rank_directory,
    read_directory,
    small_run,
)


def test_the_rank_is_described_by_tables_and_the_files_beside(tmp_path: Path) -> None:
    build = small_run()
    build.add("META_DATA", name="SCHEMA_VERSION", value="1.0.0")
    arguments = {"world_size": 16, "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2}
    build.add("META_DATA", name="distributed_args", value=json.dumps(arguments | {"data_parallel_size": 4}))
    build.add("SESSION_TIME_INFO", startTimeNs=NS, endTimeNs=NS + 9)
    read = read_directory(rank_directory(tmp_path / "capture", build, rank=3), tmp_path / "out")
    row = read.table("ranks").row(0, named=True)
    assert (row["rank"], row["world_size"], row["host"], row["device_kind"]) == (3, 16, "node-a", "npu")
    assert (row["device_name"], row["device_index"], row["framework"]) == ("Ascend910B", 0, "pytorch")
    assert (row["level"], row["tp"], row["dp"], row["pp"]) == ("Level1", 1, 1, 0)
    assert json.loads(row["switches"])["session"] == {"startTimeNs": NS, "endTimeNs": NS + 9}
    assert json.loads(row["versions"]) == {"database_schema": "1.0.0"}
    assert (row["first_ns"], row["last_ns"]) == (NS, NS + 9000)


def test_a_wrong_device_map_is_noted_and_the_tasks_are_believed(tmp_path: Path) -> None:
    build = small_run()
    build.rows["RANK_DEVICE_MAP"] = [{"rankId": 0, "deviceId": 6}]
    read = read_file(build, tmp_path)
    assert read.note("db_device_disagrees") == 1
    assert read.table("ranks")["device_index"].to_list() == [0]


def test_devices_of_one_database_have_lanes_of_their_own(tmp_path: Path) -> None:
    build = small_run()
    build.task(60, 3000, 3100, "KERNEL_AIVEC", deviceId=1)
    read = read_file(build, tmp_path)
    lanes = read.table("tracks").filter(pl.col("kind") == "stream").select("name", "process").rows()
    assert set(lanes) == {("Stream 2", "Ascend Hardware 0 NPU"), ("Stream 2", "Ascend Hardware 1 NPU")}
    assert read.note("db_several_devices") == 2


# Schemas old, new and touched by others
def test_renamed_added_and_missing_columns_do_no_harm(tmp_path: Path) -> None:
    build = small_run()
    compute = TABLES["COMPUTE_TASK_INFO"].replace("blockDim", "blockNum").replace("mixBlockDim", "mixBlockNum")
    build.definitions["COMPUTE_TASK_INFO"] = compute + ", opState INTEGER, waitNs INTEGER"
    for row in build.rows["COMPUTE_TASK_INFO"]:
        row["blockNum"], row["mixBlockNum"] = row.pop("blockDim"), row.pop("mixBlockDim")
        row.update({"opState": build.text["dynamic"], "waitNs": 5})
    build.definitions["TASK"] = "depth INTEGER, " + TABLES["TASK"].replace(" contextId INTEGER,", "")
    for row in build.rows["TASK"]:
        row.pop("contextId")
    build.extra = ["ALTER TABLE CANN_API ADD COLUMN depth INTEGER"]
    read = read_file(build, tmp_path)
    assert read.table("pmu").filter(pl.col("metric") == "Block Dim")["value"].to_list() == [8.0]
    assert read.slices(name="Mul1")["dur_ns"].to_list() == [1000]
    number = read.slices(name="Mul1")["slice"].item()
    details = json.loads(read.table("details").filter(pl.col("slice") == number)["json"].item())
    assert details["opState"] == "dynamic" and "depth" not in details and "waitNs" not in details


def test_what_viewers_put_into_a_database_is_left_out_and_counted(tmp_path: Path) -> None:
    build = small_run()
    build.extra = [
        "CREATE TABLE OVERLAP_ANALYSIS (id INTEGER PRIMARY KEY AUTOINCREMENT, startNs, endNs, type)",
        f"INSERT INTO OVERLAP_ANALYSIS (startNs, endNs, type) VALUES ({NS}, {NS + 5}, 0), ({NS}, {NS + 7}, 1)",
        "CREATE TABLE connectionCats (connectionId INT, cat)",
    ]
    read = read_file(build, tmp_path)
    assert read.note("db_table_foreign", table="OVERLAP_ANALYSIS") == 2
    assert read.note("db_table_foreign", table="sqlite_sequence") == 1
    assert read.slices(kind="reported").height == 1  # the wrapper, as without the viewer


def test_a_level_0_database_without_types_still_has_its_kernels(tmp_path: Path) -> None:
    build = small_run()
    for row in build.rows["COMPUTE_TASK_INFO"]:
        row.update(dict.fromkeys(set(row) - {"name", "globalTaskId", "blockDim", "mixBlockDim"}, build.text["N/A"]))
    for row in build.rows["COMMUNICATION_TASK_INFO"]:
        row.update({"planeId": NONE, "srcRank": NONE, "dstRank": NONE, "linkType": 65535, "transportType": 65535})
    read = read_file(build, tmp_path)
    found = read.slices(name="Mul1").select(pl.col("kind", "type", "core", "input_shapes").cast(pl.String)).row(0)
    assert found == ("kernel", None, "KERNEL_AICORE", None)
    assert read.table("transfers")["peer"].to_list() == [None, None]
    assert read.slices(name="Notify_Wait")["kind"].to_list() == ["wait"]


def test_a_mindspore_database_has_no_framework_tables(tmp_path: Path) -> None:
    build = small_run()
    framework = ("PYTORCH_API", "CONNECTION_IDS", "PYTORCH_CALLCHAINS", "STEP_TIME", "MEMORY_RECORD", "OP_MEMORY")
    read = read_file(build, tmp_path, "ascend_mindspore_profiler_0.db", only=set(TABLES) - set(framework))
    assert read.table("ranks")["framework"].to_list() == ["mindspore"]
    assert read.slices(kind="kernel").height == 1
    assert ("Node@launch", "Mul1") in read.links("launch")
    assert read.note("db_table_missing", table="PYTORCH_API") == 0
    assert read.note("db_table_missing", table="NPU_MODULE_MEM") == 1


def test_missing_tables_are_noted_with_the_switch_that_fills_them(tmp_path: Path) -> None:
    read = read_file(small_run(), tmp_path)
    missing = {note.params["table"]: note.params["switch"] for note in read.notes if note.code == "db_table_missing"}
    assert missing["OP_MEMORY"] == missing["MEMORY_RECORD"] == "profile_memory=True"
    assert read.note("db_summary_missing") == 1


def test_msprof_is_not_asked_for_tables_that_only_a_framework_adds(tmp_path: Path) -> None:
    added = {"PYTORCH_API", "CONNECTION_IDS", "PYTORCH_CALLCHAINS", "STEP_TIME", "MEMORY_RECORD", "OP_MEMORY"}
    added.add("META_DATA")  # the job's own words, with the framework among them
    read = read_file(small_run(), tmp_path, "msprof_20250109074903.db", only=set(TABLES) - added)
    notes = {note.params["table"]: note for note in read.notes if note.code == "db_table_missing"}
    assert not added & notes.keys()
    assert notes["NPU_MODULE_MEM"].params["switch"] == "--sys-hardware-mem=on"
    (summary,) = [note for note in read.notes if note.code == "db_summary_missing"]
    for language in ("en", "zh"):
        assert "msprof --analyze=on" in summary.sentence(language)
    # The same tables under the name of a framework's file are that framework's.
    read = read_file(small_run(), tmp_path, "ascend_pytorch_profiler_0.db", only=set(TABLES) - added)
    missing = {note.params["table"]: note.params["switch"] for note in read.notes if note.code == "db_table_missing"}
    assert missing["PYTORCH_API"] == "activities=[ProfilerActivity.CPU]"
    assert missing["NPU_MODULE_MEM"] == "profile_memory=True"
