"""Rules on pipelines and on communication between operators, held to what the simulator says a fault costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from diagnosis.cases import judged
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.finding import Finding
from stepscope.simulate.scenario_files import of_table
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


def _simulated(
    directory: Path, job: dict[str, Any], detail: Literal["full", "steps"] = "full", **fault: Any
) -> tuple[RunContext, dict[str, Any]]:
    scenario = of_table(job | {"faults": [fault] if fault else []}, "test")
    truth = simulate(scenario, directory / "run", detail=detail).truth
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


@pytest.mark.parametrize(
    ("micro_batches", "gain"),
    [
        (24, None),  # twelve for each stage are plenty
        (16, 1 / 17 - 1 / 65),  # four times as many, 64, leave 1 of 65 passes
        (4, 1 / 5 - 1 / 25),  # plenty, 24, are more than four times as many
    ],
)
def test_few_micro_batches_for_each_stage_are_a_bubble(tmp_path: Path, micro_batches: int, gain: float | None) -> None:
    plan = {"dp": 1, "tp": 1, "pp": 2, "micro_batches": micro_batches}
    run, _ = _simulated(tmp_path, PIPELINE | {"plan": plan})
    told = [_share_of(finding) for finding in judged("pipeline_bubble", run)]
    assert told == ([] if gain is None else [pytest.approx(gain, abs=0.01)])


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


STAGES_WITH_TENSORS = PIPELINE | {"plan": {"dp": 2, "tp": 2, "pp": 2, "micro_batches": 16}, "steps": 3}


@pytest.mark.parametrize("detail", ["full", "steps"])
@pytest.mark.parametrize("cause", ["layers", "last_stage"])
def test_more_layers_and_a_long_loss_are_told_apart_with_and_without_single_kernels(
    tmp_path: Path, cause: str, detail: Literal["full", "steps"]
) -> None:
    fault: dict[str, Any] = {"kind": "stage_imbalance", "cause": cause, "strength": "clear"}
    if cause == "layers":  # the last stage is always the last
        fault["stage"] = 1
    run, _ = _simulated(tmp_path, STAGES_WITH_TENSORS, detail, **fault)
    (finding,) = judged("stage_imbalance", run)
    assert (finding.where.stage, finding.cause) == (1, cause)


NPU_HOSTS = {
    "extends": "healthy-ascend",
    "name": "three hosts",
    "plan": {"dp": 9},
    "host": {"ranks": 3},
    "network": {
        "inside": "HCCS",
        "rates": {name: {"gb_per_s": 150.0, "latency_us": 2.0} for name in ("HCCS", "RDMA")},
    },
    "steps": 3,
}
NPU_STAGES = PIPELINE | {
    "device": {"kind": "npu", "name": "Ascend910B3"},
    "plan": {"dp": 6, "tp": 1, "pp": 2, "micro_batches": 16},
    "host": {"ranks": 2},
    "network": NPU_HOSTS["network"],
    "steps": 3,
}


@pytest.mark.parametrize(
    ("job", "fault", "cause", "place"),
    [
        # Rank 3 sends to another host over one link only: its card looks like that link.
        (NPU_HOSTS, {"cause": "card", "ranks": [3]}, "link_or_card", "2-3"),
        (NPU_HOSTS, {"cause": "link", "links": [[2, 3]]}, "link_or_card", "2-3"),
        (NPU_HOSTS, {"cause": "link", "links": [[1, 2]]}, "link", "1-2"),  # no card in it
        # Here the other stage is on another host, too.
        (NPU_STAGES, {"cause": "link", "links": [[1, 2]]}, "link", "1-2"),
        (NPU_STAGES, {"cause": "card", "ranks": [2]}, "card", None),
    ],
)
def test_a_card_is_told_from_a_link_where_it_has_another_one(
    tmp_path: Path, job: dict[str, Any], fault: dict[str, Any], cause: str, place: str | None
) -> None:
    run, _ = _simulated(tmp_path, job, kind="slow_link", strength="clear", **fault)
    (finding,) = judged("slow_link", run)
    assert (finding.cause, finding.where.link) == (cause, place)


@pytest.mark.parametrize(("rate", "severities"), [(250.0, {"info"}), (80.0, {"warning", "critical"})])
def test_what_layers_exchange_over_fast_links_is_usual(tmp_path: Path, rate: float, severities: set[str]) -> None:
    """Four ranks share each layer; the slower the links, the longer nothing computes."""
    network = {"rates": {"NVLINK": {"gb_per_s": rate, "latency_us": 2.0}}}
    job = PIPELINE | {"plan": {"dp": 1, "tp": 4, "pp": 1, "micro_batches": 8}, "network": network, "steps": 3}
    run, _ = _simulated(tmp_path, job)
    (finding,) = judged("exposed_communication", run)
    assert finding.cause == "transfer"
    assert finding.severity in severities


def test_a_loader_that_a_gathering_hides_in_part_is_named_with_all_that_it_costs(tmp_path: Path) -> None:
    """Each step begins with a call that gathers parameters: while it runs, the device is not idle."""
    job = {
        "extends": "healthy",
        "name": "sharded",
        "plan": {"dp": 4},
        "steps": 4,
        "workload": {"gradients": "reduce_scatter"},
    }
    run, truth = _simulated(tmp_path, job, kind="slow_rank", cause="data", strength="mild", ranks=[2])
    (finding,) = [each for each in work_out(run.store).findings if each.accuses]
    assert (finding.kind, finding.cause, finding.ranks) == ("slow_rank", "data", [2])
    assert _share_of(finding) == pytest.approx(truth["faults"][0]["gain_share"], rel=0.25)


def test_keys_and_values_that_a_split_sequence_gathers_are_no_redistribution(tmp_path: Path) -> None:
    run, _ = _simulated(tmp_path, DATA_PARALLEL | {"plan": {"dp": 2, "cp": 2}}, "steps")
    assert judged("redistribution", run) == []


def test_experts_of_a_slow_rank_have_no_more_tokens_than_others(tmp_path: Path) -> None:
    job = {"extends": "healthy-experts", "name": "experts", "plan": {"dp": 8, "ep": 8}, "steps": 4}
    run, _ = _simulated(tmp_path, job, "steps", kind="slow_rank", cause="compute", ranks=[5], strength="clear")
    assert [finding.ranks for finding in judged("slow_rank", run)] == [[5]]
    assert judged("expert_imbalance", run) == []


@pytest.mark.parametrize("experts", [4, 8])
def test_tokens_that_hot_experts_give_away_fall_to_the_others(tmp_path: Path, experts: int) -> None:
    """So the step can become as short as the mean of all allows, not as short as the others are now."""
    job = {"extends": "healthy-experts", "name": "experts", "plan": {"dp": 8, "ep": experts}, "steps": 4}
    run, truth = _simulated(tmp_path, job, "steps", kind="expert_imbalance", strength=0.2)
    (finding,) = judged("expert_imbalance", run)
    assert _share_of(finding) == pytest.approx(truth["faults"][0]["gain_share"], rel=0.1)


@pytest.mark.parametrize("chunks", [1, 2])
def test_the_bubble_is_what_stages_wait_while_they_do_not_compute(tmp_path: Path, chunks: int) -> None:
    """(p - 1) ÷ (v · m + p - 1), less what stages that end early wait in the reduction that ends the step.

    Chunks of the model have their receives posted early, beside computing: that is no bubble.
    """
    plan = {"dp": 1, "tp": 1, "pp": 4, "chunks": chunks, "micro_batches": 16}
    run, _ = _simulated(tmp_path, PIPELINE | {"plan": plan, "workload": {"layers": 16}}, "steps")
    answer = run.answer("cluster")
    assert answer is not None
    whole = 3 / (chunks * 16 + 3)
    assert 0.5 * whole < answer.bubble.share < whole
