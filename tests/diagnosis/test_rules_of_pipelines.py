"""Rules on pipelines and on communication between operators, held to what the simulator says a fault costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnosis.cases import judged
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.finding import Finding
from stepscope.simulate.scenario import of_table
from stepscope.simulate.writing import simulate
from stepscope.store.run_store import open_store

PIPELINE = {
    "extends": "healthy-3d",
    "name": "two stages",
    "plan": {"dp": 2, "tp": 1, "pp": 2, "micro_batches": 16},
    "host": {"ranks": 4},
    "steps": 4,
}
DATA_PARALLEL = {"extends": "healthy", "name": "four ranks", "plan": {"dp": 4}, "steps": 4}


def _simulated(directory: Path, job: dict[str, Any], **fault: Any) -> tuple[RunContext, dict[str, Any]]:
    scenario = of_table(job | {"faults": [fault] if fault else []}, "test")
    truth = simulate(scenario, directory / "run").truth
    store = open_store(directory / "run")
    assert store is not None
    return RunContext(store), truth


def _share_of(finding: Finding) -> float:
    assert finding.gain_share is not None
    return finding.gain_share


def test_micro_batches_of_uneven_length_make_the_stages_wait(tmp_path: Path) -> None:
    run, truth = _simulated(tmp_path, PIPELINE, kind="sequence_imbalance", amount=0.4)
    (finding,) = judged("sequence_imbalance", run)
    assert finding.ranks == [0, 1, 2, 3]
    assert _share_of(finding) == pytest.approx(truth["faults"][0]["gain_share"], rel=0.25)


def test_even_micro_batches_are_no_uneven_sequences(tmp_path: Path) -> None:
    run, _ = _simulated(tmp_path, PIPELINE)
    assert judged("sequence_imbalance", run) == []
    assert judged("pipeline_bubble", run) == []  # 16 micro-batches in two stages: 5.9 % of the step


def test_gradients_that_queue_with_a_gathering_are_part_of_its_cost(tmp_path: Path) -> None:
    run, truth = _simulated(tmp_path, DATA_PARALLEL, kind="redistribution", strength="mild")
    (finding,) = judged("redistribution", run)
    assert _share_of(finding) == pytest.approx(truth["faults"][0]["gain_share"], rel=0.25)


def test_a_slow_link_of_a_stage_is_named_though_all_ranks_meet_in_other_calls(tmp_path: Path) -> None:
    rates = {"HCCS": {"gb_per_s": 150.0, "latency_us": 5.0}, "RDMA": {"gb_per_s": 90.0, "latency_us": 5.0}}
    job = PIPELINE | {
        "device": {"kind": "npu", "name": "Ascend910B3"},
        "plan": {"dp": 4, "tp": 1, "pp": 2, "micro_batches": 16},
        "host": {"ranks": 2},
        "network": {"inside": "HCCS", "rates": rates},
        "steps": 3,
    }
    run, truth = _simulated(tmp_path, job, kind="slow_link", cause="link", strength="clear", links=[[5, 6]])
    (finding,) = judged("slow_link", run)
    assert finding.where.link == "5-6"
    assert _share_of(finding) == pytest.approx(truth["faults"][0]["gain_share"], rel=0.25)


def test_chunks_of_the_model_that_come_back_to_the_first_stage_are_no_passes(tmp_path: Path) -> None:
    job = PIPELINE | {"plan": {"dp": 1, "tp": 1, "pp": 2, "chunks": 2, "micro_batches": 4}}
    run, _ = _simulated(tmp_path, job)
    (finding,) = judged("pipeline_bubble", run)
    # Four micro-batches through two chunks each: the bubble is 1 of 8 + 1 passes; 4 times as many leave 1 of 33.
    assert [each.value for each in finding.evidence if each.metric == "micro_batches"] == [8]
    assert _share_of(finding) == pytest.approx(1 / 9 - 1 / 33, abs=0.02)
