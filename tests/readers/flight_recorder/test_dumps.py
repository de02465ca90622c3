"""Dumps of PyTorch's flight recorder: calls, groups, stacks, and who never joined which call."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.errors import StepscopeError
from stepscope.run import Run
from support.limits import HANGS_AFTER_S

T0 = 1_794_818_450_000_000_000
JOB = Path(__file__).with_name("recorded_job.py")


def entry(record: int, seq: int, name: str = "nccl:all_reduce", **other: Any) -> dict[str, Any]:
    """As PyTorch 2.13 writes it."""
    return {
        "record_id": record,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "op_id": record + 1,
        "profiling_name": name,
        "time_created_ns": T0 + record * 1_000_000,
        "input_sizes": [[1024, 4]],
        "input_dtypes": ["BFloat16"],
        "output_sizes": [[2048, 4]],
        "output_dtypes": ["BFloat16"],
        "state": "completed",
        "time_discovered_started_ns": T0 + record * 1_000_000 + 90_000_000,
        "time_discovered_completed_ns": T0 + record * 1_000_000 + 190_000_000,
        "retired": True,
        "timeout_ms": 600000,
        "is_p2p": False,
        "frames": [
            {"name": "all_reduce", "filename": "distributed_c10d.py", "line": 5},
            {"name": "train", "filename": "train.py", "line": 9},
        ],
    } | other


def dump(entries: list[dict[str, Any]], ranks: str = "[0, 1, 2]") -> dict[str, Any]:
    return {
        "version": "2.10",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}},
        "pg_status": {"0": {"last_enqueued_collective": 4}},
        "entries": entries,
    }


def load(folder: Path, dumps: dict[int, dict[str, Any]]) -> Run:
    (folder / "dumps").mkdir(exist_ok=True)
    for rank, content in dumps.items():
        (folder / "dumps" / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(content, protocol=2))
    return stepscope.load(folder / "dumps", store=folder / "store")


def test_calls_have_group_number_size_and_stack(tmp_path: Path) -> None:
    entries = [entry(0, 1), entry(1, 2, "nccl:_all_gather_base"), entry(2, 3, duration_ms=1.5)]
    run = load(tmp_path, {0: dump(entries), 1: dump(entries), 2: dump(entries)})

    calls = run.table("collectives").filter(pl.col("rank") == 1).sort("slice").collect()
    assert calls["kind"].cast(pl.String).to_list() == ["all_reduce", "all_gather", "all_reduce"]
    assert calls["seq"].to_list() == [1, 2, 3]
    assert calls["bytes"].to_list() == [1024 * 4 * 2, 2048 * 4 * 2, 1024 * 4 * 2]
    assert (calls["end_ns"] - calls["start_ns"]).to_list() == [0, 0, 1_500_000]
    (group,) = run.communication().groups
    assert (group.ranks, group.name, group.members_known) == ([0, 1, 2], "default_pg", True)
    frames = run.table("stacks", [0]).collect()["frames"].to_list()
    assert frames == ["train.py(9): train\ndistributed_c10d.py(5): all_reduce"]
    assert run.communication().unjoined == []


def test_who_never_joined_is_named(tmp_path: Path) -> None:
    hung: dict[str, Any] = {"state": "started", "retired": False, "time_discovered_completed_ns": None}
    waiting = dump([entry(0, 1), entry(1, 2), entry(2, 3, **hung)])
    run = load(tmp_path, {0: waiting, 1: waiting, 2: dump([entry(0, 1), entry(1, 2)])})

    (call,) = run.communication().unjoined
    assert (call.seq, call.kind, call.joined, call.missing) == (3, "all_reduce", [0, 1], [2])
    assert call.step is None
    assert {note.rank for note in run.notes if note.code == "flight_recorder_unfinished"} == {0, 1}


def test_a_member_that_made_another_call_under_the_same_number_is_named(tmp_path: Path) -> None:
    usual, other = dump([entry(0, 1), entry(1, 2)]), dump([entry(0, 1), entry(1, 2, "nccl:broadcast")])
    run = load(tmp_path, {0: usual, 1: usual, 2: other})

    assert {(call.kind, tuple(call.missing)) for call in run.communication().unjoined} == {
        ("all_reduce", (2,)),
        ("broadcast", (0, 1)),
    }


def test_what_a_ring_has_overwritten_is_held_against_nobody(tmp_path: Path) -> None:
    long, short = [entry(number, number + 1) for number in range(9)], [entry(number, number + 1) for number in (7, 8)]
    run = load(tmp_path, {0: dump(long), 1: dump(long), 2: dump(short)})

    assert run.communication().unjoined == []


def test_a_member_without_a_dump_is_held_against_nobody(tmp_path: Path) -> None:
    run = load(tmp_path, {0: dump([entry(0, 1)]), 1: dump([entry(0, 1)])})

    assert run.communication().unjoined == []


def test_transfers_name_their_peer_in_the_job(tmp_path: Path) -> None:
    sends = dump([entry(0, 1, "nccl:send 1->2", is_p2p=True, p2p_seq_id=4)], ranks="[4, 5, 6]")
    run = load(tmp_path, {5: sends})

    (call,) = run.table("collectives").collect().to_dicts()
    assert (str(call["kind"]), call["peer"], call["seq"]) == ("send", 6, 4)


def test_a_dump_that_would_execute_code_is_refused(tmp_path: Path) -> None:
    class Harmful:
        def __reduce__(self) -> tuple[Any, ...]:
            return (exec, ("raise SystemExit",))

    file = tmp_path / "nccl_trace_rank_0"
    file.write_bytes(pickle.dumps({"version": "2.10", "pg_config": {}, "entries": [Harmful()]}, protocol=2))
    with pytest.raises(StepscopeError):
        stepscope.load(file, store=tmp_path / "store")


@pytest.mark.parametrize("entries", [[], [1, "text", None], [{}], [{"profiling_name": "x", "time_created_ns": -4}]])
def test_a_dump_without_calls_is_a_clear_error(entries: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "nccl_trace_rank_0"
    file.write_bytes(pickle.dumps(dump(entries), protocol=2))
    with pytest.raises(StepscopeError):
        stepscope.load(file, store=tmp_path / "store")


@pytest.mark.torch
def test_real_dumps_of_a_job_that_hangs(tmp_path: Path) -> None:
    """Made here by PyTorch itself, over gloo, both as pickle and as JSON."""
    pytest.importorskip("torch")
    processes = [
        subprocess.Popen([sys.executable, str(JOB), str(rank), str(tmp_path)], stderr=subprocess.DEVNULL)
        for rank in range(3)
    ]
    assert [process.wait(HANGS_AFTER_S) for process in processes] == [0, 0, 0]
    (tmp_path / "pickles").mkdir()
    (tmp_path / "texts").mkdir()
    for rank in range(3):
        (tmp_path / f"nccl_trace_rank_{rank}").rename(tmp_path / "pickles" / f"nccl_trace_rank_{rank}")
        (tmp_path / f"as_json_rank{rank}.json").rename(tmp_path / "texts" / f"rank{rank}.json")
    truth = json.loads((tmp_path / "texts" / "rank0.json").read_text("utf-8"))["entries"]
    for folder in ("pickles", "texts"):
        run = stepscope.load(tmp_path / folder, store=tmp_path / "store")
        calls = run.table("collectives").filter(pl.col("rank") == 0).sort("slice").collect()
        assert calls["seq"].to_list() == [each["collective_seq_id"] for each in truth]
        assert calls["start_ns"].to_list() == [each["time_created_ns"] for each in truth]
        assert calls["bytes"].to_list() == [4000] * len(truth)
        assert [(call.seq, call.missing) for call in run.communication().unjoined] == [(3, [2]), (4, [2])]
