"""Use of processors: means, steps, contention, and what samples cannot tell."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.stores import make_store
from stepscope.analysis.answer import Answer
from stepscope.analysis.cpu import Cpu, CpuRank, CpuUse, cpu
from stepscope.errors import NoAnswerError
from stepscope.report.cpu import show
from stepscope.texts import LANGUAGES
from support.samples import open_sample

SECOND = 10**9
Rows = list[dict[str, Any]]


def machine(second: int, user: float | None, system: float | None, idle: float, **more: Any) -> dict[str, Any]:
    values = {"user": user, "system": system, "io": 0.0, "idle": idle}
    return {"time_ns": second * SECOND, "scope": "machine", **values, **more}


def process(second: int, user: float, scope: str = "process", number: int | None = None, **more: Any) -> dict[str, Any]:
    return {"time_ns": second * SECOND, "scope": scope, "id": number, "user": user, "system": 0.0, **more}


def ask(directory: Path, **tables: Any) -> Answer[Cpu]:
    answer = cpu(make_store(directory, **tables))
    msgspec.convert(answer.plain(), Cpu)
    assert all(note.sentence(lang) for note in answer.notes for lang in LANGUAGES)
    return answer


def use(answer: Answer[Cpu], scope: str, number: int | None = None) -> CpuUse:
    return next(entry for entry in answer.data.uses if (entry.scope, entry.id) == (scope, number))


def test_means_and_contention_by_hand(tmp_path: Path) -> None:
    rows = [
        machine(1, 2.0, 1.0, 1.0, runnable=3, context_switches=100, dur_ns=SECOND),
        machine(2, 3.0, 1.0, 0.0, runnable=6, context_switches=300),
        machine(4, 1.0, 0.0, 3.0, runnable=5, context_switches=500),
        process(1, 1.0, dur_ns=SECOND),
        process(2, 1.5),
        process(4, 1.0),
        process(2, 0.6, "op", 3, dur_ns=SECOND),
        process(4, 0.2, "op", 3),
    ]
    ops = [{"op": 3, "name": "Map(id=3)", "workers": 2}]
    answer = ask(tmp_path, cpu=rows, pipeline_ops=ops)
    rank: CpuRank = answer.data.ranks[0]
    # Samples of one, one and two seconds.
    assert (rank.cores, rank.machine_busy_share) == (4, (3 + 4 + 2 * 1) / 4 / 4)
    # Machine less process: 2, 2.5, 0 cores.
    assert (rank.other_cores, rank.other_share, rank.contended) == (1.125, 0.28125, True)
    assert (rank.runnable_mean, rank.crowded_share) == ((3 + 6 + 2 * 5) / 4, 3 / 4)
    assert rank.context_switches_per_s == (300 + 500) / 3  # the first sample has no length
    stage = use(answer, "op", 3)
    assert (stage.name, stage.workers, stage.samples) == ("Map(id=3)", 2, 2)
    assert stage.busy_cores == pytest.approx((0.6 + 2 * 0.2) / 3)
    assert stage.per_worker_share == pytest.approx(0.5 / 3)
    assert stage.busy_max_cores == 0.6
    assert [(entry.scope, entry.id) for entry in answer.data.uses] == [("machine", None), ("process", None), ("op", 3)]


def test_a_sample_weighs_as_much_as_the_time_it_covers(tmp_path: Path) -> None:
    # Three samples of 100 ms, then one of 0.7 ms, in which all four cores and six threads ran.
    moments = [100_000_000, 200_000_000, 300_000_000, 300_700_000]
    use_of = [1.0, 1.0, 1.0, 4.0]
    rows = [
        {"scope": "machine", "user": cores, "system": 0.0, "io": 0.0, "idle": 4.0 - cores, "runnable": int(cores * 1.5)}
        | {"time_ns": moment, "dur_ns": 700_000 if cores == 4 else 100_000_000}
        for moment, cores in zip(moments, use_of, strict=True)
    ]
    answer = ask(tmp_path, cpu=rows)
    rank, machine_use = answer.data.ranks[0], use(answer, "machine")
    mean = (3 * 100 * 1 + 0.7 * 4) / 300.7
    assert machine_use.busy_cores == pytest.approx(mean)
    assert rank.machine_busy_share == pytest.approx(mean / 4)
    assert rank.crowded_share == pytest.approx(0.7 / 300.7)
    assert rank.runnable_mean == pytest.approx((300 * 1 + 0.7 * 6) / 300.7)
    assert (machine_use.busy_p95_cores, machine_use.busy_max_cores) == (1.0, 4.0)
    # Where the source does not tell the lengths, they are the time since the sample before.
    silent = ask(tmp_path / "silent", cpu=[{**row, "dur_ns": None} for row in rows])
    assert use(silent, "machine").busy_cores == pytest.approx(mean)


def test_a_machine_whose_user_time_is_lost_is_as_busy_as_it_is_not_idle(tmp_path: Path) -> None:
    rows = [machine(1, 3.0, 1.0, 4.0), machine(2, None, None, 2.0), machine(3, None, None, 8.0)]
    answer = ask(tmp_path, cpu=rows)
    assert answer.data.ranks[0].cores == 8
    assert use(answer, "machine").busy_cores == (4 + 6 + 0) / 3
    assert use(answer, "machine").user_cores == 3.0


def test_shares_that_do_not_add_up_leave_the_number_of_cores_open(tmp_path: Path) -> None:
    answer = ask(tmp_path, cpu=[machine(n, 10.0 * n, 10.0 * n, 10.0) for n in (1, 2, 3)])
    assert (answer.data.ranks[0].cores, answer.data.ranks[0].machine_busy_share) == (None, None)
    assert "cpu_cores_unknown" in [note.code for note in answer.notes]
    # Whole percentages are cut, so that a machine of 64 cores seems to have a little less.
    cut = ask(tmp_path / "cut", cpu=[machine(1, 31.36, 12.16, 18.56), machine(2, 20.48, 10.24, 32.64)])
    assert cut.data.ranks[0].cores in (62, 63, 64)


def test_other_ranks_of_the_host_are_no_strangers(tmp_path: Path) -> None:
    rows = [{**machine(1, 6.0, 0.0, 2.0), "rank": rank} for rank in (0, 1, 2)]
    rows += [{**process(1, cores), "rank": rank} for rank, cores in ((0, 1.0), (1, 4.0), (2, 2.0))]
    ranks: Rows = [{"rank": 0, "host": "a"}, {"rank": 1, "host": "a"}, {"rank": 2, "host": "b"}]
    answer = ask(tmp_path, cpu=rows, ranks=ranks)
    assert [entry.sibling_cores for entry in answer.data.ranks] == [4.0, 1.0, 0.0]
    assert [entry.other_cores for entry in answer.data.ranks] == [1.0, 1.0, 4.0]
    assert [entry.contended for entry in answer.data.ranks] == [False, False, True]


def marks(*edges: int) -> Rows:
    return [
        {"step": number, "host_start_ns": start * SECOND, "host_end_ns": end * SECOND, "marks_from": "profiler_step"}
        for number, (start, end) in enumerate(itertools.pairwise(edges), 1)
    ]


def test_a_sample_belongs_to_the_step_it_ends_in(tmp_path: Path) -> None:
    rows = [process(second, float(second)) for second in range(1, 10)]
    answer = ask(tmp_path, cpu=rows, steps=marks(2, 4, 7))
    found = {(entry.step): (entry.samples, entry.busy_cores) for entry in answer.data.steps}
    assert found == {1: (2, 2.5), 2: (3, 5.0)}  # seconds 2 and 3; 4, 5 and 6
    assert answer.data.ranks[0].unit == "step"
    narrowed = cpu(make_store(tmp_path / "b", cpu=rows, steps=marks(2, 4, 7)), steps=[2])
    assert use(narrowed, "process").samples == 3
    with pytest.raises(NoAnswerError):
        cpu(make_store(tmp_path / "c", cpu=rows, steps=marks(2, 4, 7)), steps=[9])


def test_batches_stand_in_for_steps_on_another_clock(tmp_path: Path) -> None:
    taken = [2, 5, 6]
    tables: dict[str, Rows] = {
        "cpu": [process(second, float(second)) for second in range(1, 10)],
        "steps": marks(1000, 1001, 1002),
        "pipeline_batches": [{"batch": number, "queue": 1} for number in (1, 2, 3)],
        "tracks": [{"track": 0, "kind": "counter", "name": "iterator queue"}],
        "counters": [{"track": 0, "time_ns": second * SECOND, "value": 1.0} for second in taken],
    }
    answer = ask(tmp_path, **tables)
    assert {entry.step: entry.samples for entry in answer.data.steps} == {1: 3, 2: 1, 3: 4}
    assert answer.data.ranks[0].unit == "batch"
    assert [note.code for note in answer.notes if note.code.startswith("cpu_batches")] == ["cpu_batches_are_steps"]


def test_a_long_curve_keeps_its_peak(tmp_path: Path) -> None:
    dice = random.Random(1)
    rows = [process(second, dice.random()) for second in range(5000)]
    rows[3333]["user"] = 50.0
    answer = ask(tmp_path, cpu=rows)
    curve = answer.data.curves[0]
    assert len(curve.time_ns) <= 600 and curve.time_ns == sorted(curve.time_ns)
    assert (max(value for value in curve.busy_cores if value), curve.time_ns[0], curve.time_ns[-1]) == (
        50.0,
        0,
        4999 * SECOND,
    )
    assert "cpu_steps_unknown" in [note.code for note in answer.notes]


def test_a_run_without_samples_has_no_answer(tmp_path: Path) -> None:
    with pytest.raises(NoAnswerError, match="minddata_cpu_utilization"):
        cpu(make_store(tmp_path, ranks=[{"rank": 0}]))


def test_ranks_without_samples_are_noted(tmp_path: Path) -> None:
    answer = ask(tmp_path, cpu=[process(1, 1.0)], ranks=[{"rank": 0}, {"rank": 1}], steps=[{"rank": 1, "step": 1}])
    assert [note.rank for note in answer.notes if note.code == "cpu_not_recorded"] == [1]


def test_the_real_sample(shared_data: Path) -> None:
    answer = cpu(open_sample(shared_data / "mindinsight" / "run_2" / "profiler").store)
    # minddata_cpu_utilization_1.json: 100 processors; user and system 10, 20, 30 %, of one core for process and stage.
    assert use(answer, "machine").user_cores == pytest.approx(20.0)
    assert use(answer, "process").busy_cores == pytest.approx(0.4)
    stage = use(answer, "op", 1)
    assert (stage.name, stage.workers) == ("Map(id=1)", 8)
    assert stage.busy_max_cores == pytest.approx(0.6)
    # Its shares add up to 40, 60 and 80 %, so the number of processors cannot be had from them.
    assert answer.data.ranks[0].cores is None


def test_the_terminal_shows_who_uses_the_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [machine(1, 7.0, 0.5, 0.5, runnable=20), process(1, 1.0), process(1, 0.5, "op", 3)]
    answer = ask(tmp_path, cpu=rows, pipeline_ops=[{"op": 3, "name": "Map(id=3)", "workers": 2}])
    show(answer, "en")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("rank 0: 8 cores, 94% busy; this process uses 1.00 cores, others 6.50.")
    assert "Other processes take 81%" in lines[0] and "more threads were ready to run" in lines[0]
    assert any("Map(id=3)" in line for line in lines)
    show(answer, "zh")
    assert "8 核" in capsys.readouterr().out
