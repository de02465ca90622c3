"""Results of msprof-analyze read as a run of many ranks: text files, the database, and both when they are damaged."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from readers.ascend_db_builder import Read, claimed
from stepscope.errors import UnreadableInputError
from stepscope.readers import cluster_analysis
from stepscope.texts import LANGUAGES

GROUP = "17148521525495523210"
CALL = "hcom_allReduce__210_2_1"
STEP_HEADER = (
    "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing,DP Index,PP Index,TP Index"
)


def times(start: str, elapse: float, wait: float) -> dict[str, Any]:
    return {
        "Start Timestamp(us)": start,
        "Elapse Time(ms)": elapse,
        "Transit Time(ms)": 1.5,
        "Wait Time(ms)": wait,
        "Synchronization Time(ms)": 0.25,
        "Idle Time(ms)": 0.5,
        "Wait Time Ratio": 0.1,
        "Synchronization Time Ratio": 0.2,
    }


def link(size: float, time: float, kind: str = "HCCS") -> dict[str, Any]:
    return {"Transport Type": kind, "Transit Size(MB)": size, "Transit Time(ms)": time, "Bandwidth(GB/s)": size / time}


def text_files(folder: Path) -> Path:
    """Two ranks of one group, one step."""
    folder.mkdir(parents=True)
    (folder / "cluster_step_trace_time.csv").write_text(
        f"{STEP_HEADER}\n7,rank,0,1.5,2,0.5,2.5,3,6.5,0,2,4,0,1,0\n7,rank,1,2.5,1,0.5,1.5,3,6.5,0,1,4,1,1,0\n"
        '7,stage,"(0, 1)",2.5,2,0.5,2.5,3,6.5,0,2,4,,,\n'
    )
    band: dict[str, Any] = {"Transit Size(MB)": 2.0, "Transit Time(ms)": 1.0, "Bandwidth(GB/s)": 2.0}
    band["Large Packet Ratio"] = 0.0
    band["Size Distribution"] = {"0.5": [4, 1.0]}
    calls = {
        f"{CALL}@{GROUP}": {
            "0": {
                "Communication Time Info": times("1736410576431645.250", 3, 0.75),
                "Communication Bandwidth Info": {"HCCS": band},
            },
            "1": {"Communication Time Info": times("1736410576431646.001", 2, 0.0)},
        },
        f"Total Op Info@{GROUP}": {"0": {"Communication Time Info": {"Wait Time(ms)": 0.75}}},
    }
    (folder / "cluster_communication.json").write_text(json.dumps({"(0, 1)": {"step7": calls}, "p2p": {}}))
    matrix = {
        f"allreduce-top1@{GROUP}": {"0-1": link(1, 1)},
        f"allreduce-total@{GROUP}": {"0-1": link(2, 4), "1-0": link(3, 4), "0-0": link(5, 1, "LOCAL")},
    }
    (folder / "cluster_communication_matrix.json").write_text(json.dumps({"(0, 1)": {"step7": matrix}}))
    groups = {
        "collective": [[0, 1]],
        "p2p": [[1, 9]],
        "comm_group_parallel_info": [
            {"type": "collective", "rank_set": [0, 1], "group_name": GROUP, "group_id": "ip%nic", "pg_name": "dp"}
        ],
    }
    (folder / "communication_group.json").write_text(json.dumps(groups))
    return folder


def database(path: Path, extra: tuple[str, ...] = ()) -> Path:
    """The same in SQLite form, with a recipe's table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = "step TEXT, rank_id INTEGER, hccl_op_name TEXT, group_name TEXT"
    with sqlite3.connect(path) as connection:
        for statement in (
            "PRAGMA synchronous=OFF",
            "CREATE TABLE CommunicationGroupMapping (type TEXT, rank_set TEXT, group_name TEXT, group_id TEXT,"
            " pg_name TEXT)",
            f"INSERT INTO CommunicationGroupMapping VALUES ('collective', '(0,1)', '{GROUP}', 'ip%nic', 'dp')",
            'CREATE TABLE ClusterStepTraceTime (step TEXT, type TEXT, "index" TEXT, computing NUMERIC, free NUMERIC,'
            " dp_index INTEGER, pp_index INTEGER, tp_index INTEGER)",
            "INSERT INTO ClusterStepTraceTime VALUES ('7', 'rank', '0', 1.5, 3, 0, 1, 0),"
            " ('7', 'rank', '1', 2.5, 3, 1, 1, 0)",
            f"CREATE TABLE ClusterCommunicationTime ({names}, start_timestamp NUMERIC, elapsed_time NUMERIC,"
            " transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC)",
            f"INSERT INTO ClusterCommunicationTime VALUES ('7', 1, '{CALL}', '{GROUP}', 1736410576431645.25, 3, 1.5,"
            " 0.75, 0.25, 0.5)",
            "CREATE TABLE ClusterCommunicationMatrix (step TEXT, hccl_op_name TEXT, group_name TEXT, src_rank INTEGER,"
            " dst_rank INTEGER, transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC)",
            f"INSERT INTO ClusterCommunicationMatrix VALUES ('7', 'allreduce-total', '{GROUP}', 0, 1, 'HCCS', 2, 4,"
            " 0.5)",
            "CREATE TABLE HostInfo (hostUid TEXT, hostName TEXT)",
            "INSERT INTO HostInfo VALUES ('17', 'node-a')",
            "CREATE TABLE RankDeviceMap (rankId INTEGER, deviceId INTEGER, hostUid TEXT, profilePath TEXT)",
            "INSERT INTO RankDeviceMap VALUES (0, 4, '17', '/a'), (1, 5, '17', '/b')",
            "CREATE TABLE ClusterBaseInfo (key TEXT, value TEXT)",
            "INSERT INTO ClusterBaseInfo VALUES ('distributed_args', '{\"world_size\": 16}')",
            "CREATE TABLE SlowRank (rankId INTEGER, slowAffectCount INTEGER)",
            "INSERT INTO SlowRank VALUES (1, 12)",
            *extra,
        ):
            connection.execute(statement)
    connection.close()
    return path


def read(directory: Path, out: Path) -> Read:
    [source] = claimed(directory, cluster_analysis)
    assert (source.reader, source.rank) == ("cluster_analysis", None)
    return Read(source, out, cluster_analysis)


def test_text_files_become_calls_links_groups_and_ranks(tmp_path: Path) -> None:
    found = read(text_files(tmp_path / "cluster_analysis_output"), tmp_path / "out")
    columns = ["rank", "group", "seq", "kind", "name", "step", "start_ns", "end_ns", "transit_ns", "wait_ns", "sync_ns"]
    rows = found.table("collectives").select(pl.col(columns)).rows()
    first, second = 1736410576431645250, 1736410576431646001
    assert rows == [
        (0, GROUP, 2, "all_reduce", CALL, 7, first, first + 3_000_000, 1_500_000, 750_000, 250_000),
        (1, GROUP, 2, "all_reduce", CALL, 7, second, second + 2_000_000, 1_500_000, 0, 250_000),
    ]
    links = found.table("transfers").select("rank", "peer", pl.col("transport").cast(pl.String), "bytes", "time_ns")
    assert set(links.rows()) == {
        (0, 1, "HCCS", 2_000_000, 4_000_000),
        (1, 0, "HCCS", 3_000_000, 4_000_000),
        (0, 0, "LOCAL", 5_000_000, 1_000_000),
    }
    groups = found.table("groups").select(pl.col("group", "dimension").cast(pl.String), "ranks").rows()
    assert set(map(str, groups)) == {str((GROUP, "dp", [0, 1])), str(("p2p (1, 9)", None, [1, 9]))}
    ranks = found.table("ranks").select("rank", "dp", "pp", "tp", pl.col("device_kind").cast(pl.String)).rows()
    assert ranks == [(0, 0, 1, 0, "npu"), (1, 1, 1, 0, "npu"), (9, None, None, None, "npu")]
    assert found.table("slices").height == 0


def test_the_vendors_numbers_are_kept_with_the_rank_they_belong_to(tmp_path: Path) -> None:
    found = read(text_files(tmp_path / "cluster_analysis_output"), tmp_path / "out")
    reported = found.table("reported").select(
        "rank", pl.col("file").cast(pl.String), "step", pl.col("key", "metric").cast(pl.String), "value"
    )
    rows = set(reported.rows())
    steps, calls = "cluster_step_trace_time.csv", "cluster_communication.json"
    assert {
        (0, steps, 7, None, "Computing", 1.5),
        (1, steps, 7, None, "Computing", 2.5),
        (None, steps, 7, "stage (0, 1)", "Computing", 2.5),
        (0, calls, 7, f"{CALL}@{GROUP}", "Wait Time(ms)", 0.75),
        (0, calls, 7, f"{CALL}@{GROUP}", "HCCS Bandwidth(GB/s)", 2.0),
        (0, calls, 7, f"{CALL}@{GROUP}", "HCCS 0.5 MB packets", 4.0),
        (0, calls, 7, f"Total Op Info@{GROUP}", "Wait Time(ms)", 0.75),
        (1, "cluster_communication_matrix.json", 7, f"allreduce-total@{GROUP}", "1-0 Transit Size(MB)", 3.0),
    } <= rows
    # 3 rows of 9 numbers; 7 times of each call and one of the total; 4 of the band and 2 of its packets; 4 links of 3.
    assert reported.height == 27 + 14 + 1 + 4 + 2 + 12


def test_the_database_says_the_same_and_is_read_instead_of_the_texts(tmp_path: Path) -> None:
    folder = text_files(tmp_path / "cluster_analysis_output")
    database(folder / "cluster_analysis.db")
    found = read(folder, tmp_path / "out")
    assert found.note("cluster_file_repeats") == 4
    call = found.table("collectives").row(0, named=True)
    assert (call["rank"], call["start_ns"], call["end_ns"]) == (1, 1736410576431645250, 1736410576434645250)
    assert found.table("transfers").select("rank", "peer", "bytes", "time_ns").rows() == [(0, 1, 2_000_000, 4_000_000)]
    ranks = found.table("ranks").select("rank", "world_size", "host", "device_index", "dp").rows()
    assert ranks == [(0, 16, "node-a", 4, 0), (1, 16, "node-a", 5, 1)]
    recipe = found.table("reported").filter(pl.col("key").cast(pl.String) == "SlowRank")
    assert recipe.select("rank", pl.col("metric").cast(pl.String), "value").rows() == [(1, "slowAffectCount", 12.0)]


def test_tables_of_others_are_left_out_and_counted(tmp_path: Path) -> None:
    extra = ("CREATE TABLE shopping (item TEXT)", "INSERT INTO shopping VALUES ('milk'), ('tea')")
    database(tmp_path / "cluster_analysis.db", extra)
    assert read(tmp_path, tmp_path / "out").note("db_table_foreign", table="shopping") == 2


def test_single_files_are_claimed_by_name_and_databases_by_content(tmp_path: Path) -> None:
    folder = text_files(tmp_path / "cluster_analysis_output")
    path = database(tmp_path / "renamed.db")
    for file in (folder / "cluster_communication.json", path):
        source = cluster_analysis.claim_file(file, file.read_bytes()[:100])
        assert source is not None and source.path == file
        assert Read(source, tmp_path / f"out {file.name}", cluster_analysis).table("collectives").height
    assert cluster_analysis.claim_file(tmp_path / "other.json", b"{}") is None


def test_missing_files_are_noted_and_the_others_read(tmp_path: Path) -> None:
    folder = text_files(tmp_path / "cluster_analysis_output")
    (folder / "cluster_communication.json").unlink()
    found = read(folder, tmp_path / "out")
    assert [note.file for note in found.notes if note.code == "cluster_file_missing"] == ["cluster_communication.json"]
    assert found.table("transfers").height == 3
    assert all(note.sentence(language) for note in found.notes for language in LANGUAGES)


def test_old_matrices_with_one_entry_per_call_count_the_total_only(tmp_path: Path) -> None:
    folder = text_files(tmp_path / "cluster_analysis_output")
    matrix = {f"{CALL}@{GROUP}": {"0-1": link(1, 1)}, "Total Op Info": {"0-1": link(7, 2)}}
    (folder / "cluster_communication_matrix.json").write_text(json.dumps({"(0, 1)": {"step": matrix}}))
    rows = read(folder, tmp_path / "out").table("transfers").select("bytes", "step").rows()
    assert rows == [(7_000_000, None)]


def test_a_folder_with_nothing_about_ranks_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "cluster_analysis_output"
    folder.mkdir()
    (folder / "communication_group.json").write_text("{}")
    with pytest.raises(UnreadableInputError) as error:
        read(folder, tmp_path / "out")
    assert error.value.code == "cluster_without_data" and error.value.message("zh")


def test_other_folders_are_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "communication_group.json").write_text("{}")  # other tools write a file of this name
    assert claimed(tmp_path, cluster_analysis) == []


def test_damaged_files_give_what_they_can_or_a_clear_error(tmp_path: Path) -> None:
    folder = text_files(tmp_path / "whole")
    database(tmp_path / "db" / "cluster_analysis.db")
    files = [*sorted(folder.iterdir()), tmp_path / "db" / "cluster_analysis.db"]
    chance = random.Random(5)
    for number in range(60):
        file = files[number % len(files)]
        data = bytearray(file.read_bytes())
        if number % 3 == 0:
            del data[chance.randrange(len(data)) :]
        elif data:
            for _ in range(chance.choice((1, 5, 50))):
                data[chance.randrange(len(data))] = chance.randrange(256)
        damaged = tmp_path / f"damaged{number}"
        damaged.mkdir()
        (damaged / file.name).write_bytes(data)
        for path in folder.iterdir():
            if number % 2 and file.suffix != ".db" and path.name != file.name:
                (damaged / path.name).write_bytes(path.read_bytes())
        try:
            for source in claimed(damaged, cluster_analysis):
                Read(source, tmp_path / f"out{number}", cluster_analysis)
        except UnreadableInputError as error:
            assert error.message()
        assert (damaged / file.name).read_bytes() == data


@pytest.mark.parametrize(
    "odd", [None, [], {}, "x", -1, 1e300, True, {"a": {"b": {"c": {"d": []}}}}, [[1, "a", None, 1e99]]]
)
def test_values_of_any_type_are_survived(tmp_path: Path, odd: Any) -> None:
    folder = text_files(tmp_path / "cluster_analysis_output")
    for name in ("cluster_communication.json", "cluster_communication_matrix.json", "communication_group.json"):
        (folder / name).write_text(json.dumps({"collective": odd, "(0, 1)": odd, "comm_group_parallel_info": odd}))
    assert read(folder, tmp_path / "out").table("ranks")["rank"].to_list()[:2] == [0, 1]
