"""Rules on code behind a batch, collections of all ranks, memory that is nearly full, hangs, and runs on a CPU."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import msgspec
import pytest

import stepscope
from analysis.launch_cases import Case
from analysis.stores import make_store
from diagnosis.cases import STEP, STEPS, context, judged, mean_step
from stepscope.analysis.launches.types import Pause
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.finding import Finding, Where
from stepscope.diagnosis.measures.rank_time import Spread
from stepscope.diagnosis.ranking import in_order, ranked
from support.findings import finding as hand_made

_LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def _loop_with_batches(own_code: tuple[int, int]) -> Case:
    """Each step of 100 us: a batch is there at once, and the device waits 40 us for code of the script in between."""
    case = Case()
    for number in range(1, STEPS + 1):
        begin = number * STEP
        case.step(number, begin, begin + STEP)
        case.slice(_LOADER, "annotation", begin, begin + 1, step=number, phase="data")
        first, last = own_code
        case.slice("aten::embedding", "operator", begin + last, begin + last + 2, step=number, phase="forward")
        case.launch((begin + last, begin + last + 1), (begin + last + 2, begin + STEP), step=number)
        if first > 1:  # the model begins before that code
            case.slice("aten::linear", "operator", begin + 1, begin + first, step=number, phase="forward")
    return case


def _told(found: list[Finding]) -> list[tuple[str, str | None]]:
    return [(finding.kind, finding.cause) for finding in found]


def test_code_between_a_batch_and_the_model_is_a_matter_of_data(tmp_path: Path) -> None:
    found = work_out(_loop_with_batches((1, 40)).store(tmp_path)).findings
    assert _told(found) == [("data_starved", "user_code")]
    assert found[0].gain_us == pytest.approx(40, abs=4)


def test_code_inside_the_model_is_not(tmp_path: Path) -> None:
    assert _told(work_out(_loop_with_batches((3, 40)).store(tmp_path)).findings) == [("host_bound", "python")]


def _collecting(directory: Path, *pause_us: float) -> RunContext:
    """Rank 0 loses 20 of 100 us to garbage collection, and the others wait for it; all collect so long."""
    times = [
        mean_step(rank, 80 - 20 * bool(rank), 20 * bool(rank), idle={"gc": 0 if rank else 20}) for rank in (0, 1, 2)
    ]
    run = context(directory, *times)
    pauses = {rank: [Pause(rank, 1, rank, 0, us, us)] if us else [] for rank, us in enumerate(pause_us)}
    run._by_rank["launches", "gc_pauses"] = pauses
    return run


def test_ranks_that_collect_alike_have_the_program_to_blame(tmp_path: Path) -> None:
    (finding,) = judged("gc_pause", _collecting(tmp_path, 20, 22, 18))
    assert (finding.ranks, finding.gain_us) == ([0, 1, 2], 20)


def test_a_rank_that_collects_alone_is_named_alone(tmp_path: Path) -> None:
    (finding,) = judged("gc_pause", _collecting(tmp_path, 20, 0, 1))
    assert finding.ranks == [0]


def _memory(directory: Path, allocated: int) -> list[Finding]:
    curve = [
        {"device": "cuda:0", "component": "caching allocator", "time_ns": at, "allocated": allocated, "reserved": 1000}
        for at in (1, 5)
    ]
    ranks = [{"rank": 0, "memory_capacity": 1000}]
    return judged("memory_pressure", RunContext(make_store(directory, ranks=ranks, memory=curve)))


def test_memory_that_is_nearly_full_is_worth_knowing(tmp_path: Path) -> None:
    (finding,) = _memory(tmp_path, 910)
    assert (finding.cause, finding.severity) == ("nearly_full", "info")
    assert "91.0%" in finding.title.en


def test_a_pool_that_keeps_memory_for_itself_is_not_full(tmp_path: Path) -> None:
    assert _memory(tmp_path, 600) == []


def test_memory_in_pieces_is_reported_once(tmp_path: Path) -> None:
    """1,000 bytes are asked for, 1,500 are free in the pool, and the request fails."""
    events = [{"device": "cuda:0", "time_ns": 9, "kind": "oom", "bytes": 1000, "free_bytes": 0}]
    line = {"device": "cuda:0", "component": "caching allocator", "allocated": 500, "reserved": 2000}
    store = make_store(tmp_path, memory_events=events, memory=[line | {"time_ns": at} for at in (1, 5)])
    assert [(each.kind, each.severity) for each in work_out(store).findings] == [("memory_fragmentation", "critical")]


def _out_of_memory(directory: Path, reserved: int, *devices: tuple[int, str]) -> list[Finding]:
    """Each device of 1,000 bytes is asked for 300, with 10 free on it and nothing in the pool."""
    events = [
        {"rank": rank, "device": device, "time_ns": 9, "kind": "oom", "bytes": 300, "free_bytes": 10}
        for rank, device in devices
    ]
    curves = [
        {"rank": rank, "device": device, "component": "caching allocator", "time_ns": at}
        | {"allocated": reserved, "reserved": reserved}
        for rank, device in devices
        for at in (1, 5)
    ]
    ranks = [{"rank": rank, "memory_capacity": 1000} for rank in sorted({rank for rank, _ in devices})]
    store = make_store(directory, ranks=ranks, memory_events=events, memory=curves)
    return judged("memory_pressure", RunContext(store))


def test_memory_that_others_hold_is_not_won_back_by_smaller_batches(tmp_path: Path) -> None:
    (own,) = _out_of_memory(tmp_path / "own", 990, (0, "cuda:0"))
    (others,) = _out_of_memory(tmp_path / "others", 100, (0, "cuda:0"))
    assert ("smaller batches" in own.advice.en, "nvidia-smi" in own.advice.en) == (True, False)
    assert ("smaller batches" in others.advice.en, "nvidia-smi" in others.advice.en) == (False, True)


def test_ranks_of_one_machine_run_out_of_memory_together(tmp_path: Path) -> None:
    (finding,) = _out_of_memory(tmp_path, 990, (0, "cuda:0"), (1, "cuda:1"))
    assert (finding.ranks, [proof.rank for proof in finding.proof]) == ([0, 1], [0, 1])


def test_two_devices_of_one_rank_are_told_apart(tmp_path: Path) -> None:
    findings = _out_of_memory(tmp_path, 990, (0, "cuda:0"), (0, "cuda:1"))
    assert [(finding.ranks, finding.where.device) for finding in findings] == [([0], "cuda:0"), ([0], "cuda:1")]


def _entry(record: int, seq: int, **more: Any) -> dict[str, Any]:
    created = 1_000_000 + 1000 * seq
    return {
        "record_id": record,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "op_id": seq,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": created,
        "input_sizes": [[8]],
        "input_dtypes": ["Float"],
        "output_sizes": [[8]],
        "output_dtypes": ["Float"],
        "state": "completed",
        "time_discovered_started_ns": created,
        "time_discovered_completed_ns": created + 10,
        "retired": True,
        "timeout_ms": 600000,
        "is_p2p": False,
        "frames": [],
    } | more


def test_a_call_that_a_rank_never_joined_is_a_hang(tmp_path: Path) -> None:
    hung: dict[str, Any] = {"state": "started", "retired": False, "time_discovered_completed_ns": None}
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}
    (tmp_path / "dumps").mkdir()
    for rank in range(3):
        entries = [_entry(0, 1), _entry(1, 2), *([] if rank == 2 else [_entry(2, 3, **hung)])]
        dump = {"version": "2.4", "pg_config": config, "entries": entries}
        (tmp_path / "dumps" / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(dump, protocol=2))
    diagnosis = stepscope.load(tmp_path / "dumps", store=tmp_path / "store").diagnose()
    finding = diagnosis.findings[0]
    assert (finding.kind, finding.cause, finding.ranks, finding.severity) == ("hang", "never_joined", [2], "critical")
    assert "rank 2 never joined call 3 (all_reduce), for which ranks 0, 1 wait" in finding.title.en
    assert diagnosis.verdict.finding == finding.id


@pytest.mark.parametrize(
    ("kind", "words"), [("cpu", "On rank 0, nothing is computed"), ("gpu", "The device of rank 0")]
)
def test_where_the_host_computes_no_device_is_said_to_wait(tmp_path: Path, kind: str, words: str) -> None:
    run = RunContext(make_store(tmp_path, ranks=[{"rank": 0, "device_kind": kind}]))
    vars(run)["times"] = {0: mean_step(0, 60, idle={"host": 40})}
    (finding,) = judged("host_bound", run)
    assert finding.title.en.startswith(words)


@pytest.mark.parametrize(("steps", "severity"), [(4, "info"), (7, "info"), (8, "warning")])
def test_a_few_steps_make_no_habit(tmp_path: Path, steps: int, severity: str) -> None:
    spread = Spread(usual_us=90.0, longest_us=120.0, long_steps=[2, 4], rhythm=2)
    time = mean_step(0, 100, spread=spread)
    object.__setattr__(time, "steps", list(range(1, steps + 1)))
    (finding,) = judged("step_jitter", context(tmp_path, time))
    assert finding.severity == severity


def test_what_may_be_waiting_is_no_second_accusation_behind_an_uneven_stage(tmp_path: Path) -> None:
    ranks = [{"rank": rank, "pp": rank // 2} for rank in range(4)]
    run = RunContext(make_store(tmp_path, ranks=ranks))
    vars(run)["times"] = {rank: mean_step(rank, 60 if rank > 1 else 40, 40 if rank > 1 else 60) for rank in range(4)}
    found = ranked([*judged("stage_imbalance", run), *judged("exposed_communication", run)], run.times)
    assert [(each.kind, each.accuses) for each in found] == [
        ("stage_imbalance", True),
        ("exposed_communication", False),
    ]


@pytest.mark.parametrize(("of_the_stage", "first"), [(80.0, "stage_imbalance"), (70.0, "pipeline_bubble")])
def test_of_two_that_cost_about_the_same_the_one_with_a_culprit_comes_first(of_the_stage: float, first: str) -> None:
    bubble = msgspec.structs.replace(hand_made("pipeline_bubble", [0, 1, 2, 3]), gain_us=100.0)
    stage = msgspec.structs.replace(hand_made("stage_imbalance", [2, 3]), gain_us=of_the_stage, where=Where(stage=1))
    assert next(finding.kind for finding in in_order([bubble, stage])) == first
