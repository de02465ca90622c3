"""Two ranks of a data-parallel job on CPUs, made by hand: one sleeps in each step, and the other waits for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import stepscope
from stepscope.diagnosis.finding import Finding
from stepscope.facts.findings import finding_facts

_MS = 1000.0  # microseconds, the unit of the files
_SLEEP, _WORK, _CALL, _UPDATE = 100.0, 10.0, 2.0, 1.0
_PERIOD = _SLEEP + _WORK + _CALL + _UPDATE
_NOTED_LATE = 1.5  # the thread of a collective wakes the loop, and notes its end when it gets a core again
_STEPS = 6


def _slice(name: str, category: str, thread: int, start: float, end: float) -> dict[str, Any]:
    times = {"ts": start * _MS, "dur": (end - start) * _MS}
    return {"ph": "X", "name": name, "cat": category, "pid": 40, "tid": thread, **times, "args": {}}


def _step(rank: int, number: int) -> list[dict[str, Any]]:
    begin = number * _PERIOD
    forward = begin + (_SLEEP if rank == 1 else 0.0) + 0.5
    called, returned = forward + _WORK - 0.5, begin + _PERIOD - _UPDATE
    return [
        _slice(f"ProfilerStep#{number}", "user_annotation", 40, begin, begin + _PERIOD - 0.01),
        _slice("enumerate(DataLoader)#_Iter.__next__", "user_annotation", 40, begin, begin + 0.4),
        _slice("aten::addmm", "cpu_op", 40, forward, called),
        _slice("gloo:all_reduce", "user_annotation", 70, called, returned + _NOTED_LATE),
        _slice("aten::add_", "cpu_op", 40, returned, returned + _UPDATE - 0.1),
    ]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    """What is said of the job."""
    directory = tmp_path_factory.mktemp("job")
    group = {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cpu:gloo", "pg_size": 2, "ranks": [0, 1]}
    for rank in (0, 1):
        info = {"backend": "gloo", "rank": rank, "world_size": 2, "pg_count": 1, "pg_config": [group]}
        events = [event for number in range(1, _STEPS + 1) for event in _step(rank, number)]
        document = {"schemaVersion": 1, "distributedInfo": info, "host_name": "one", "traceEvents": events}
        directory.joinpath(f"rank{rank}.json").write_text(json.dumps(document), encoding="utf-8")
    return stepscope.load(directory, progress=False).diagnose().findings


def test_it_is_reported_once_with_what_the_sleep_costs(findings: list[Finding]) -> None:
    (finding,) = [one for one in findings if one.gain_us]
    assert (finding.kind, finding.cause, finding.ranks) == ("slow_rank", "host", [1])
    assert finding.gain_us == pytest.approx(_SLEEP * _MS, rel=0.1)


def test_only_what_makes_a_rank_slow_is_part_of_its_finding() -> None:
    limits = finding_facts().slow_rank
    assert limits.is_absorbed("host_bound", "framework", "host")
    assert limits.is_absorbed("data_starved", "user_code", "host")
    assert not limits.is_absorbed("data_starved", "loader", "host")
    assert limits.is_absorbed("data_starved", "loader", "data")
    assert not limits.is_absorbed("host_bound", None, None)
