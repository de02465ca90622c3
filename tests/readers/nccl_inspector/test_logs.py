"""Logs of NCCL's inspector plugin, by the fields that its documentation shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.errors import StepscopeError

BUS = {2: 2 * 1 / 2}


def line(rank: int, number: int, took_us: int, *, group: str = "0x7f8c496ae9f661", **more: Any) -> str:
    size = 1 << 20
    return json.dumps(
        {
            "header": {"id": group, "rank": rank, "n_ranks": 2, "nnodes": 1},
            "metadata": {
                "inspector_output_format_version": "v4.0",
                "git_rev": "",
                "rec_mechanism": "profiler_plugin",
                "dump_timestamp_us": 1_748_030_377_000_000 + number * 100_000,
                "hostname": f"node{rank}",
                "pid": 1000 + rank,
            },
            "coll_perf": {
                "coll": "AllReduce",
                "coll_sn": number,
                "coll_msg_size_bytes": size,
                "coll_exec_time_us": took_us,
                "coll_algobw_gbs": size / took_us / 1e3,
                "coll_busbw_gbs": size / took_us / 1e3 * BUS[2],
            }
            | more,
        }
    )


def write(folder: Path, rank: int, lines: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"node{rank}-pid{1000 + rank}.log"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def test_calls_have_communicator_number_size_and_time(tmp_path: Path) -> None:
    write(tmp_path / "logs", 0, [line(0, 7, 300), line(0, 8, 200)])
    write(tmp_path / "logs", 1, [line(1, 7, 200), line(1, 8, 260)])
    run = stepscope.load(tmp_path / "logs", store=tmp_path / "store")

    assert run.ranks == [0, 1]
    hosts = run.table("ranks").sort("rank").collect()["host"].cast(pl.String).to_list()
    assert hosts == ["node0", "node1"]
    answer = run.communication()
    (operation,) = answer.operations
    assert (operation.kind, operation.count, operation.total_us, operation.bytes) == ("all_reduce", 4, 960.0, 4 << 20)
    # Nobody needs longer than the one that came last; the rest is waiting.
    assert operation.wait_us == 160.0
    assert {(wait.rank, wait.blames, wait.wait_us) for wait in answer.waits} == {(0, 1, 100.0), (1, 0, 60.0)}
    assert operation.algorithm_gb_per_s == pytest.approx(4 * (1 << 20) / 800e-6 / 1e9)


def test_verbose_logs_say_when_calls_began(tmp_path: Path) -> None:
    events = [{"channel_id": 0, "kernel_start_ts": 1_752_867_229_235_181, "kernel_stop_ts": 1_752_867_229_235_481}]
    file = write(tmp_path / "logs", 0, [line(0, 1, 300, event_trace_ts={"kernel_events": events})])
    run = stepscope.load(file, store=tmp_path / "store")

    (call,) = run.table("collectives").collect().to_dicts()
    assert (call["start_ns"], call["end_ns"]) == (1_752_867_229_235_181_000, 1_752_867_229_235_481_000)
    assert "nccl_inspector_times" not in [note.code for note in run.notes]


def test_a_line_that_is_cut_off_costs_that_call_only(tmp_path: Path) -> None:
    file = write(tmp_path / "logs", 0, [line(0, 1, 300), line(0, 2, 300), line(0, 3, 300)[:80]])
    run = stepscope.load(file, store=tmp_path / "store")

    assert run.table("collectives").collect()["seq"].to_list() == [1, 2]
    assert [note.count for note in run.notes if note.code == "nccl_inspector_lines_unreadable"] == [1]


def test_the_rank_is_the_one_in_the_largest_communicator(tmp_path: Path) -> None:
    small = json.loads(line(0, 1, 10))
    large = json.loads(line(0, 1, 10, group="0xa"))
    large["header"] |= {"rank": 5, "n_ranks": 8}
    file = write(tmp_path / "logs", 0, [json.dumps(small), json.dumps(large)])

    assert stepscope.load(file, store=tmp_path / "store").ranks == [5]


def test_other_json_lines_are_not_taken_for_it(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"header": 1, "metadata": 2, "coll_perf": 3}\n', "utf-8")
    with pytest.raises(StepscopeError):
        stepscope.load(file, store=tmp_path / "store")
