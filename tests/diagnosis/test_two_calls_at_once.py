"""Two ranks on CPUs, made by hand, that reduce gradients in two calls at once, on two threads; one has a slow backward.

The other's loop goes on when the first of the two calls is done, and then waits for the second; between operators, or
inside of one that needs the result.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import stepscope
from stepscope.run import Run

_MS = 1000.0  # microseconds, the unit of the files
_FORWARD, _EXTRA, _FIRST, _BOTH, _UPDATE = 10.0, 100.0, 2.0, 8.0, 1.0
_WOKEN = 0.3  # how long a thread needs to go on, behind what it waited for
_PERIOD = _FORWARD + _EXTRA + _BOTH + _WOKEN + _UPDATE
_STEPS = 6


def _slice(name: str, category: str, thread: int, start: float, end: float) -> dict[str, Any]:
    times = {"ts": start * _MS, "dur": (end - start) * _MS}
    return {"ph": "X", "name": name, "cat": category, "pid": 40, "tid": thread, **times, "args": {}}


def _step(rank: int, number: int, *, inside_operator: bool) -> list[dict[str, Any]]:
    begin = number * _PERIOD
    ready = begin + _FORWARD + (_EXTRA if rank == 1 else 0.0)
    all_ready = begin + _FORWARD + _EXTRA
    first, second = all_ready + _FIRST, all_ready + _BOTH
    return [
        _slice(f"ProfilerStep#{number}", "user_annotation", 40, begin, begin + _PERIOD - 0.01),
        _slice("aten::addmm", "cpu_op", 40, begin + 0.1, begin + _FORWARD - 0.1),
        *([_slice("aten::mm", "cpu_op", 40, begin + _FORWARD, ready - 0.1)] if rank == 1 else []),
        _slice("c10d::allreduce_", "cpu_op", 40, ready - 0.1, ready),
        _slice("gloo:all_reduce", "user_annotation", 70, ready, first),
        _slice("gloo:all_reduce", "user_annotation", 71, ready + 0.1, second),
        *(_waits(ready + 0.1, first + _WOKEN) if inside_operator else []),
        _slice("aten::copy_", "cpu_op", 40, first + _WOKEN, first + _WOKEN + 0.1),
        *(_waits(first + _WOKEN + 0.1, second + _WOKEN) if inside_operator else []),
        _slice("aten::add_", "cpu_op", 40, second + _WOKEN, second + _WOKEN + _UPDATE - 0.1),
    ]


def _waits(start: float, end: float) -> list[dict[str, Any]]:
    names = ("aten::add", "PythonSubclass", "_c10d_functional::wait_tensor")
    return [_slice(name, "cpu_op", 40, start, end) for name in names]


@pytest.fixture(scope="module", params=[False, True], ids=["between_operators", "inside_operators"])
def job(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Run:
    directory = tmp_path_factory.mktemp("job")
    group = {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cpu:gloo", "pg_size": 2, "ranks": [0, 1]}
    for rank in (0, 1):
        info = {"backend": "gloo", "rank": rank, "world_size": 2, "pg_count": 1, "pg_config": [group]}
        events = [
            event for number in range(1, _STEPS + 1) for event in _step(rank, number, inside_operator=request.param)
        ]
        document = {"schemaVersion": 1, "distributedInfo": info, "host_name": "one", "traceEvents": events}
        directory.joinpath(f"rank{rank}.json").write_text(json.dumps(document), encoding="utf-8")
    return stepscope.load(directory, progress=False)


def test_without_what_the_slow_rank_does_more_each_step_is_as_much_shorter(job: Run) -> None:
    changed = job.whatif(changes=["rank:1=median"]).steps
    for step in changed:
        assert step.replayed_us == pytest.approx(_PERIOD * _MS, rel=0.01)
        assert step.changed_us == pytest.approx((_PERIOD - _EXTRA) * _MS, rel=0.05)


def test_the_gain_of_the_finding_is_what_the_rank_does_more(job: Run) -> None:
    (finding,) = [one for one in job.diagnose().findings if one.kind == "slow_rank"]
    assert (finding.ranks, finding.cause) == ([1], "compute")
    assert finding.gain_us == pytest.approx(_EXTRA * _MS, rel=0.05)
