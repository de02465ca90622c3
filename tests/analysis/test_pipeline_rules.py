"""Single rules of the verdict, on small tables made by hand, and how the terminal shows them."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.queue_model import USUAL, Job, Model, name_of
from analysis.stores import make_store
from stepscope.analysis.pipeline import pipeline
from stepscope.analysis.pipeline.structure import Verdict
from stepscope.report.pipeline import show

Rows = list[dict[str, Any]]


def judged(directory: Path, **tables: Any) -> Verdict:
    return pipeline(make_store(directory, **tables)).data.verdict


# --- taking a batch that lies ready -------------------------------------------------------------------


def ready_but_slow(inline: str | None) -> dict[str, Any]:
    """Twenty batches, each ready in the queue, each taken in 8 of 10 ms."""
    ops: Rows = [{"op": 1, "name": "Batch(id=1)", "kind": "Batch", "parent": 0, "capacity": 4}]
    if inline:
        ops.append({"op": 0, "name": f"{inline}(id=0)", "kind": inline, "parent": None})
    times = [number * 10_000_000 for number in range(1, 21)]
    return {
        "pipeline_ops": ops,
        "pipeline_samples": [{"op": 1, "time_ns": time, "queue": 4} for time in times],
        "pipeline_batches": [{"batch": n, "get_us": 8000.0, "queue": 3, "capacity": 4} for n in range(1, 21)],
        "tracks": [{"track": 0, "kind": "counter", "name": "iterator queue"}],
        "counters": [{"track": 0, "time_ns": time, "value": 3.0} for time in times],
    }


def test_a_stage_without_queue_that_runs_while_a_batch_is_taken_is_named(tmp_path: Path) -> None:
    found = judged(tmp_path, **ready_but_slow("Map"))
    assert (found.bound, found.rule, found.op_name) == ("pipeline", "F2", "Map(id=0)")
    assert found.rules == ["F2", "D1", "D4"]


@pytest.mark.parametrize("inline", [None, "EpochCtrl"])
def test_a_batch_that_is_ready_but_slow_to_take_is_no_fault_of_the_pipeline(tmp_path: Path, inline: str | None) -> None:
    found = judged(tmp_path, **ready_but_slow(inline))
    assert (found.bound, found.rule, found.op) == ("getnext", "F2", None)
    assert found.wait_share == pytest.approx(0.8) and found.potential_speedup == pytest.approx(5.0)


# --- processors ---------------------------------------------------------------------------------------


def with_processors(directory: Path, cores: int = 8, **machine: Any) -> Verdict:
    """A pipeline whose mapping is slow, on a machine as given (in cores)."""
    workers = machine.pop("workers", 2)
    tables = Model(Job("feed", {**USUAL, "map": 1250 * workers}, workers={"map": workers})).tables()
    op_use = machine.pop("op", None)
    values = {"user": 1.0, "system": 0.0, "io": 0.0, "process": 1.0, "runnable": 1, **machine}
    rows: Rows = []
    for time in sorted({row["time_ns"] for row in tables["cpu"]}):
        idle = cores - values["user"] - values["system"]
        moment = {"time_ns": time, "user": values["user"], "system": values["system"]}
        rows.append({**moment, "scope": "machine", "io": 0.0, "idle": idle, "runnable": values["runnable"]})
        rows.append({**moment, "scope": "process", "user": values["process"], "system": 0.0})
        if op_use is not None:
            rows.append({**moment, "scope": "op", "id": 2, "user": op_use, "system": 0.0})
    return judged(directory, **{**tables, "cpu": rows})


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ({"user": 7.0, "process": 7.0}, {"D8"}),
        ({"user": 2.0, "system": 3.0, "process": 5.0, "runnable": 20}, {"D10"}),
        ({"user": 3.0, "process": 1.0, "workers": 4}, {"D11"}),
        ({"user": 2.0, "process": 2.0, "op": 1.9}, {"D12"}),
        ({"user": 5.0, "process": 5.0, "op": 0.1}, {"D13"}),
        ({"user": 1.0, "op": 0.8}, {"D9"}),
        ({"user": 1.0, "op": 0.1}, {"D9", "D13"}),
        ({"user": 5.0, "process": 5.0, "op": 1.0}, set()),
        ({"user": 7.0, "process": 4.0, "op": 1.9}, {"D8", "D11"}),
    ],
)
def test_processors_qualify_the_advice(tmp_path: Path, machine: dict[str, Any], expected: set[str]) -> None:
    found = with_processors(tmp_path, **machine)
    assert found.op_name == name_of("map")
    assert set(found.rules) - {"F1", "D1", "D4"} == expected
    assert len(found.advice) == 1 + len(expected)


# --- hidden waiting, against a painted twin -----------------------------------------------------------


@pytest.mark.parametrize("seed", range(15))
def test_waiting_that_the_device_hides_is_found_to_the_nanosecond(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    length, count = 400, 12
    busy = np.zeros(length * count + 1000, bool)
    taken = np.zeros(length * count, bool)
    slices: Rows = []
    for step in range(count):
        for _ in range(dice.randrange(1, 4)):
            first = step * length + dice.randrange(length)
            last = first + dice.randrange(1, 300)
            busy[first:last] = True
            slices.append({"kind": "kernel", "name": "k", "start_ns": first, "dur_ns": last - first, "step": step})
        for _ in range(dice.randrange(3)):
            first = step * length + dice.randrange(length - 1)
            last = min(first + dice.randrange(1, 200), (step + 1) * length)
            taken[first:last] = True
            name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
            data = {"kind": "annotation", "phase": "data", "name": name, "step": step}
            slices.append({**data, "start_ns": first, "dur_ns": last - first})
    slices.append({"kind": "kernel", "name": "k", "start_ns": 0, "dur_ns": 1, "step": 0})
    busy[0] = True
    steps = [
        {"step": n, "host_start_ns": n * length, "host_end_ns": (n + 1) * length, "marks_from": "profiler_step"}
        | {"warm_up": False, "incomplete": False}
        for n in range(count)
    ]
    # A step lasts from the end of all earlier work to the end of its own.
    own_end = [
        max(row["start_ns"] + row["dur_ns"] for row in slices if row["kind"] == "kernel" and row["step"] == step)
        for step in range(count)
    ]
    border = np.maximum.accumulate([0, *own_end])
    waits = np.concatenate((taken, np.zeros(1000, bool))) & ~busy[: len(taken) + 1000]
    exposed = [int(waits[start:end].sum()) for start, end in itertools.pairwise(border)]
    found = pipeline(make_store(tmp_path, slices=slices, steps=steps)).data
    assert found.verdict.wait_share == pytest.approx(sum(exposed) / border[-1], rel=1e-12)
    limit = 0.05 * border[-1] / count
    assert found.starving[0].which == [n for n in range(count) if exposed[n] > limit]


# --- the terminal -------------------------------------------------------------------------------------


def test_the_terminal_says_what_was_seen_and_what_to_change_and_leaves_the_verdict_to_the_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = pipeline(make_store(tmp_path, **Model(Job("sink", {**USUAL, "map": 2500})).tables()))
    show(answer, "en")
    lines = capsys.readouterr().out.splitlines()
    verdict = answer.data.verdict
    assert lines[: 1 + len(verdict.why)] == ["rank 0:", *(f"  {sentence.en}" for sentence in verdict.why)]
    assert "steps starve: " in "\n".join(lines) and any(line.startswith("  → Map(id=2)") for line in lines)
    show(answer, "zh")
    assert capsys.readouterr().out.splitlines()[1] == f"  {verdict.why[0].zh}"


def test_the_terminal_shows_the_worst_of_many_ranks_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables: dict[str, Any] = {}
    for rank in range(12):
        times = {**USUAL, "transfer": 100, "user": 50, "map": 2500 if rank == 7 else 300}
        for name, rows in Model(Job("feed", times, batches=20)).tables().items():
            tables.setdefault(name, []).extend({**row, "rank": rank} for row in rows)
    show(pipeline(make_store(tmp_path, **tables)), "en")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("rank ", "…"))]
    assert lines[0] == "rank 7:"
    assert "… 4 more ranks; choose them with --rank, or use --json to see all." in lines
