"""Comparisons of real recordings: with themselves, with a copy in which one operator is slower, and in pairs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.compare.comparison import Comparison
from stepscope.compare.credit import PARTS, credited_slices
from stepscope.run import Run
from stepscope.simulate.scenario_files import load_scenario, resized
from stepscope.simulate.writing import simulate
from support.recordings import DATA, capture_of, facts_of
from support.samples import open_sample

_NAMES = ["gpu_steps", "gpu_graph", "torch_cpu", "mindspore_cpu", "four_ranks_cuda_slow_compute", "pair_bf16_compiled"]


def _pair(first: str, second: str) -> Comparison:
    return _run(first).compare(_run(second))


def _run(name: str) -> Run:
    return open_sample(next(DATA.glob(f"{name}.*z")))


def _adds_up(comparison: Comparison) -> None:
    """To the nanosecond: explanations to the difference, parts to the period, rows to their part."""
    whole = _ns(comparison.verdict.delta_us)
    assert sum(_ns(entry.delta_us) for entry in comparison.explained) == whole
    parts = {part.part: part for part in comparison.overall}
    pieces = [part for name, part in parts.items() if name not in ("period", "idle")]
    for side in ("a_us", "b_us", "delta_us"):
        assert sum(_ns(getattr(part, side)) for part in pieces) == _ns(getattr(parts["period"], side))
        for name in PARTS:
            rows = [row for row in comparison.operators if row.part == name]
            assert sum(_ns(getattr(row, side)) for row in rows) == _ns(getattr(parts[name], side))
    for row in comparison.operators:
        assert _ns(row.count_effect_us) + _ns(row.duration_effect_us) == _ns(row.delta_us)


def _ns(time_us: float) -> int:
    return round(time_us * 1000)


@pytest.mark.parametrize("name", _NAMES)
def test_credits_add_up_to_the_parts_of_each_step(name: str) -> None:
    run = _run(name)
    for rank in run.ranks:
        sums = credited_slices(run.store, rank).group_by("step", "part").agg(pl.col("credit_ns").sum())
        known = {(step, part): credit for step, part, credit in sums.iter_rows()}
        for row in run.steps(ranks=[rank]).iter_rows(named=True):
            for part in PARTS:
                assert known.get((row["step"], part), 0) == _ns(row[f"{part}_us"] or 0), (rank, row["step"], part)


@pytest.mark.parametrize("name", _NAMES)
def test_a_run_compared_with_itself_has_no_difference(name: str) -> None:
    run = _run(name)
    comparison = run.compare(run)
    assert comparison.verdict.word == "same"
    assert comparison.verdict.delta_us == 0
    assert not any(part.delta_us or part.significant for part in comparison.overall)
    assert not any(row.delta_us or row.significant for row in comparison.operators)
    assert {row.status for row in comparison.operators} == {"matched"}
    assert comparison.findings == []
    _adds_up(comparison)


def test_an_operator_that_was_slowed_is_the_one_that_is_named(tmp_path: Path) -> None:
    slowed = _with_slower_kernels(DATA / "pair_fp32.json.gz", tmp_path / "slowed.json.gz", "aten::gelu", 1.1)
    comparison = _run("pair_fp32").compare(stepscope.load(slowed, progress=False))
    _adds_up(comparison)
    (changed,) = [row for row in comparison.operators if row.significant]
    assert changed.name == "aten::gelu"
    assert changed.ratio == pytest.approx(1.1, abs=1e-4)
    assert changed.count_effect_us == 0
    assert [row.name for row in comparison.explained if row.significant and row.part == "computing"] == ["aten::gelu"]


def _with_slower_kernels(trace: Path, copy: Path, operator: str, factor: float) -> Path:
    """A copy of a trace in which the kernels of an operator take longer, and all later device work comes later."""
    content = json.loads(gzip.decompress(trace.read_bytes()))
    events: list[dict[str, Any]] = content["traceEvents"]
    launches = {
        event["args"]["correlation"]: event for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    calls = [event for event in events if event.get("cat") == "cpu_op" and event["name"] == operator]

    def belongs(event: dict[str, Any]) -> bool:
        launch = launches.get(event["args"].get("correlation"))
        return launch is not None and any(
            call["tid"] == launch["tid"] and call["ts"] <= launch["ts"] < call["ts"] + call["dur"] for call in calls
        )

    later = 0.0
    device = sorted(
        (event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")),
        key=lambda event: event["ts"],
    )
    for event in device:
        longer = event["dur"] * (factor - 1) if event["cat"] == "kernel" and belongs(event) else 0.0
        event["ts"] = round(event["ts"] + later, 3)
        event["dur"] = round(event["dur"] + longer, 3)
        later += longer
    assert later > 0
    copy.write_bytes(gzip.compress(json.dumps(content).encode()))
    return copy


def test_two_recordings_of_one_program_differ_within_noise() -> None:
    comparison = _pair("pair_fp32", "pair_fp32_again")
    assert comparison.verdict.word == "same"
    assert not any(row.significant for row in comparison.operators)
    _adds_up(comparison)


def test_bf16_explains_itself_by_matrix_products() -> None:
    comparison = _pair("pair_fp32", "pair_bf16")
    assert comparison.verdict.word == "faster"
    first, *_ = [entry for entry in comparison.explained if entry.part == "computing"]
    assert first.name == "aten::mm"
    assert {"aten::mm", "aten::addmm"} <= {entry.name for entry in comparison.explained[:3]}
    _adds_up(comparison)
    assert comparison.verdict.delta_us == pytest.approx(_clocked_us("pair_bf16") - _clocked_us("pair_fp32"), rel=0.05)


def test_compiling_explains_itself_by_the_host_and_by_fused_operators() -> None:
    comparison = _pair("pair_bf16", "pair_bf16_compiled")
    assert comparison.verdict.word == "faster"
    assert comparison.explained[0].part == "idle_host"
    assert any("triton" in (row.b_name or row.name) for row in comparison.operators if row.significant)
    products = [row for row in comparison.operators if row.name == "aten::addmm"]
    assert {row.status for row in products} <= {"matched", "renamed"}
    _adds_up(comparison)
    assert comparison.verdict.delta_us == pytest.approx(
        _clocked_us("pair_bf16_compiled") - _clocked_us("pair_bf16"), rel=0.1
    )


def _clocked_us(name: str) -> float:
    """The mean time between the CUDA events around each recorded step."""
    facts = facts_of(name)
    own = [step["between_events_ns"] for step in facts["steps"] if step["step"] in facts["recorded"]]
    return float(sum(own) / len(own) / 1000)


def test_a_slow_rank_beside_another_shows_what_it_does_more(tmp_path: Path) -> None:
    run = stepscope.load(capture_of("four_ranks_cuda_slow_compute", tmp_path), progress=False)
    slow = facts_of("four_ranks_cuda_slow_compute")["fault"]["ranks"][0]
    other = next(rank for rank in run.ranks if rank != slow)
    comparison = run.compare(ranks=([other], [slow]))
    parts = {part.part: part for part in comparison.overall}
    assert parts["computing"].delta_us > 0
    assert parts["exposed_communication"].delta_us < 0
    _adds_up(comparison)


def test_ranks_that_wait_for_each_other_take_as_long_and_are_said_to_be_made_of_something_else(
    tmp_path: Path,
) -> None:
    scenario = resized(load_scenario("slow-rank"), ranks=8, steps=4, seed=None)
    simulate(scenario, tmp_path / "run", detail="steps")
    (slow,) = scenario.faults[0].ranks
    verdict = stepscope.load(tmp_path / "run", progress=False).compare(ranks=([slow], [slow - 1])).verdict
    assert verdict.word == "same"
    assert "made of something else in B: exposed communication +" in verdict.sentence.en
    assert "computing −" in verdict.sentence.en
    assert "未掩盖通信 +" in verdict.sentence.zh
    alike = stepscope.load(tmp_path / "run", progress=False).compare(ranks=([slow - 1], [slow - 2])).verdict
    assert alike.sentence.en.startswith("No difference beyond noise")
    assert "−0.0%" not in alike.sentence.en
    assert "+0.0%" not in alike.sentence.en


def test_too_few_steps_are_noted_with_how_many_are_needed() -> None:
    comparison = _run("torch_cpu").compare(steps=([_steps("torch_cpu")[0]], [_steps("torch_cpu")[1]]))
    assert comparison.verdict.word == "not_comparable"
    assert [reason.code for reason in comparison.verdict.reasons] == ["too_few_steps"]
    assert comparison.verdict.steps_needed == 4


def _steps(name: str) -> list[int]:
    return [int(step) for step in _run(name).steps()["step"]]


def test_another_device_and_another_number_of_ranks_are_not_comparable() -> None:
    comparison = _pair("four_ranks_cuda_healthy", "four_ranks_cpu_healthy")
    assert {"other_device"} <= {reason.code for reason in comparison.verdict.reasons}
    comparison = _run("four_ranks_cuda_healthy").compare(ranks=([0, 1], [2]))
    assert [reason.code for reason in comparison.verdict.reasons] == ["other_ranks"]


def test_a_history_names_the_run_that_changed() -> None:
    runs = [_run(name) for name in ("pair_fp32", "pair_fp32_again", "pair_bf16", "pair_bf16_compiled")]
    comparison = runs[0].compare(*runs[1:])
    assert [entry.word for entry in comparison.history] == [None, "same", "faster", "faster"]
    assert [entry.changed for entry in comparison.history] == [False, False, True, True]
