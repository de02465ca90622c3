"""Communication: calls, transfers, groups, and whom a plane waited for."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from readers.ascend_builder import (
    CALL,
    CALLS,
    COMMUNICATION,
    GROUP,
    INFO,
    capture_events,
    full_capture,
    named,
    plane_task,
    span,
)
from readers.ascend_text.small_captures import read
from stepscope.readers.ascend import identity


def test_a_call_carries_the_vendors_times_its_size_and_its_group(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture())
    [call] = found["collectives"].rows(named=True)
    assert (call["group"], call["seq"], call["kind"], call["step"]) == (GROUP, 3, "all_reduce", 7)
    assert (call["bytes"], call["dtype"], call["algorithm"], call["stream"]) == (4000, "FP32", "MESH-RING", 4)
    assert (call["transit_ns"], call["wait_ns"], call["idle_ns"], call["reduce_ns"]) == (80000, 10000, 10000, None)
    assert call["sync_ns"] == 10000  # 9999.5 is a tie, and 10000 is even
    assert (call["start_ns"], call["end_ns"]) == (1300000, 1400000)
    assert found.slice("hcom_allReduce__586_3_1")["bytes"] == 4000
    assert found.rows("groups", "group", "ranks") == [(GROUP, None)]


def test_transfers_say_what_moved_to_whom_and_who_was_waited_for(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture())
    assert found.rows("transfers", "kind", "peer", "plane", "transport", "bytes", "time_ns", "call") == [
        ("wait", 5, 0, "LOCAL", 0, 10000, "hcom_allReduce__586_3_1"),
        ("payload", 1, 0, "HCCS", 4096, 30000, "hcom_allReduce__586_3_1"),
        ("reduce", 2, 1, "HCCS", 4096, 50000, "hcom_allReduce__586_3_1"),
        ("payload", None, 1, "LOCAL", 8, 2000, "hcom_allReduce__586_3_1"),
    ]
    assert set(found["transfers"]["group"]) == {GROUP}


def test_peers_are_mapped_through_the_members_of_their_group(tmp_path: Path) -> None:
    name = "10.0.0.1%eth0_60000_0_1736410538306028"
    group = identity.group_id(name)
    metadata = {
        "parallel_group_info": {name: {"group_name": "tp", "group_rank": 0, "global_ranks": [8, 9, 10, 11, 12, 13]}}
    }
    calls = {"step7": {"collective": {f"hcom_allReduce__586_3_1@{group}": CALL}, "p2p": {}}}
    found = read(tmp_path, full_capture() | {"../profiler_metadata.json": metadata, "communication.json": calls})
    assert [peer for (peer,) in found.rows("transfers", "peer")] == [13, 9, 10, None]
    [row] = found["groups"].rows(named=True)
    assert (row["group"], row["name"], row["dimension"], row["ranks"]) == (group, "tp", "tp", [8, 9, 10, 11, 12, 13])
    assert found["ranks"]["tp"].to_list() == [0]


def test_peers_of_unknown_groups_are_left_out_unless_our_own_place_is_our_rank(tmp_path: Path) -> None:
    files = full_capture() | {"../profiler_info_0.json": INFO | {"rank_id": 4}}
    found = read(tmp_path, files)
    assert found["transfers"]["peer"].null_count() == 4
    assert found.count("ascend_peer_unmapped") == 3


def test_two_groups_keep_their_planes_apart(tmp_path: Path) -> None:
    call = {"connection_id": 13, "data_type": "FP16", "alg_type": "RING", "count": 10}
    second = [
        *named(COMMUNICATION, "HCCL", {3: "Group 1 Communication", 4: "Plane 0"}, 15),
        span(COMMUNICATION, 3, "1300.000", 100, "hcom_send__123_0_1", call),
        plane_task("1320.000", 20, "Memcpy", 3, 9, 1, **{"size(Byte)": 20, "link type": "ROCE"}),
    ]
    found = read(tmp_path, {"trace_view.json": capture_events() + second})
    calls = {row["name"]: row for row in found["collectives"].rows(named=True)}
    assert (calls["hcom_send__123_0_1"]["kind"], calls["hcom_send__123_0_1"]["peer"]) == ("send", 1)
    assert calls["hcom_send__123_0_1"]["bytes"] == 20
    [sent] = [row for row in found["transfers"].rows(named=True) if row["call"] == "hcom_send__123_0_1"]
    assert (sent["transport"], sent["bytes"], sent["plane"]) == ("RDMA", 20, 0)
    assert sent["group"] == "123"  # all that the name tells without communication.json


def test_the_vendors_summaries_are_kept_as_they_are(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture())
    key = f"hcom_allReduce__586_3_1@{GROUP}"
    values = {(row["file"], row["key"], row["metric"]): row["value"] for row in found["reported"].rows(named=True)}
    assert values["communication.json", key, "Elapse Time(ms)"] == 0.1
    assert values["communication.json", key, "HCCS 0.004096 MB packets"] == 2
    assert values["communication.json", key, "HCCS 0.004096 MB packets time(ms)"] == 0.08
    assert not any(metric.startswith("RDMA") for _, _, metric in values)
    assert values["communication_matrix.json", f"allreduce-total@{GROUP}", "0-1 Transit Size(MB)"] == 0.004096
    assert set(found["reported"]["step"]) == {7}


def test_the_matrix_gives_transfers_only_where_no_planes_were_recorded(tmp_path: Path) -> None:
    bare = [event for event in capture_events() if event.get("pid") != COMMUNICATION]
    found = read(tmp_path, full_capture() | {"trace_view.json": bare})
    assert found.rows("transfers", "kind", "peer", "transport", "bytes", "time_ns", "call") == [
        ("payload", 1, "HCCS", 4096, 30000, "allreduce-total")
    ]


def test_calls_that_are_not_on_the_timeline_are_counted(tmp_path: Path) -> None:
    calls = {
        "step": {"collective": {**CALLS["step7"]["collective"], f"hcom_allReduce__586_9_1@{GROUP}": CALL}, "p2p": {}}
    }
    found = read(tmp_path, full_capture() | {"communication.json": calls})
    assert found.count("ascend_call_not_on_timeline") == 1
    assert set(found["reported"].filter(pl.col("file") == "communication.json")["step"]) == {None}
