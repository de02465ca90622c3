"""Planted faults act through the model, cost what their strength says, and have the consequences they must have."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from stepscope.errors import UsageError
from stepscope.facts.findings import finding_facts
from stepscope.simulate.calibration import planted_faults
from stepscope.simulate.faults.registry import kinds
from stepscope.simulate.look_alikes import LOOK_ALIKES
from stepscope.simulate.model import Result, build
from stepscope.simulate.scenario import FaultEntry, Host, Input, Plan, Scenario, Workload
from stepscope.simulate.scenario_files import load_scenario, names
from stepscope.simulate.truth import truth
from support.scenarios import small

_WORK: dict[str, Any] = {"layers": 4, "hidden": 2048, "sequence": 2048, "batch": 2, "vocabulary": 4096}
_PIPELINE = {"plan": Plan(dp=2, pp=2, micro_batches=8)}
_BASES: dict[str, dict[str, Any]] = {
    "stage_imbalance": _PIPELINE,
    "pipeline_bubble": _PIPELINE,
    "redistribution": {"plan": Plan(dp=2, tp=2)},
    "expert_imbalance": {"plan": Plan(dp=4, ep=4), "workload": Workload(**_WORK, experts=8)},
    "clock_skew": {"plan": Plan(dp=4), "host": Host(ranks=2)},
    "slow_link": {"plan": Plan(dp=4), "host": Host(ranks=2)},
    "slow_host": {"plan": Plan(dp=4), "host": Host(ranks=2)},
}
#: Kinds of findings that concern the capture, or a job that never ends.
_NOT_PLANTED = {"capture_incomplete", "hang"}
CASES = [(kind, cause) for kind, fault in kinds().items() for cause in fault.causes]


def base(kind: str, **changes: Any) -> Scenario:
    usual: dict[str, Any] = {"plan": Plan(dp=4), "workload": Workload(**_WORK)}
    return small(**(usual | _BASES.get(kind, {}) | changes))


def planted(scenario: Scenario, *entries: FaultEntry) -> tuple[Result, dict[str, Any]]:
    scenario = msgspec.structs.replace(scenario, faults=entries)
    faults, look_alikes = planted_faults(scenario)
    result = build(scenario, [*faults, *look_alikes]).run()
    return result, truth(scenario, faults, look_alikes, result)


def test_every_kind_of_finding_can_be_planted() -> None:
    assert set(kinds()) == set(finding_facts().kinds) - _NOT_PLANTED


@pytest.mark.parametrize(("kind", "cause"), CASES)
def test_a_fault_costs_what_its_strength_says(kind: str, cause: str) -> None:
    """Clear faults cost a tenth of the step or more, mild ones 4 to 10 %; a bubble comes in whole micro-batches."""
    limits = finding_facts().strength
    for strength in ("clear", "mild"):
        _, told = planted(base(kind), FaultEntry(kind=kind, cause=cause, strength=strength))
        (fault,) = told["faults"]
        assert (fault["kind"], fault["cause"] or "") == (kind, cause)
        if not kinds()[kind].costs:
            assert fault["gain_us"] == 0
            continue
        assert fault["step_without_us"] == pytest.approx(told["step_without_faults_us"])
        assert fault["gain_share"] == pytest.approx(1 - fault["step_without_us"] / told["step_us"])
        if kind == "pipeline_bubble":
            assert fault["gain_share"] > 0
        elif strength == "clear":
            assert fault["gain_share"] >= limits.clear_share
        else:
            assert limits.mild_share <= fault["gain_share"] < limits.clear_share


def test_a_slow_rank_makes_the_others_wait_and_waits_least_itself() -> None:
    result, _ = planted(base("slow_rank"), FaultEntry(kind="slow_rank", cause="compute", ranks=(2,)))

    waiting = result.periods.waiting[:, 3:].sum(axis=1)
    assert waiting.argmin() == 2
    others = np.delete(waiting, 2)
    assert others.min() > 10 * waiting[2]
    period = result.periods.lengths(3).mean(axis=1)
    assert np.ptp(period) < 0.01 * period.mean()  # all of them take as long as the slowest


@pytest.mark.parametrize("cause", ["data", "host"])
def test_a_rank_may_be_slow_without_computing_longer(cause: str) -> None:
    result, _ = planted(base("slow_rank"), FaultEntry(kind="slow_rank", cause=cause, ranks=(1,)))

    computing = result.periods.computing[:, 3:].mean(axis=1)
    assert np.ptp(computing) < 0.02 * computing.mean()
    assert result.periods.waiting[:, 3:].sum(axis=1).argmin() == 1


def test_a_slow_stage_starves_the_others() -> None:
    result, _ = planted(base("stage_imbalance"), FaultEntry(kind="stage_imbalance", cause="layers", stage=1))

    waiting = result.periods.waiting[:, 3:].sum(axis=1)
    first, last = waiting[:2].mean(), waiting[2:].mean()
    assert first > last


def test_a_slow_link_slows_its_group_and_nobody_computes_longer() -> None:
    scenario = base("slow_link", plan=Plan(dp=2, tp=2), host=Host(ranks=4))
    result, told = planted(scenario, FaultEntry(kind="slow_link", links=((1, 3),)))
    healthy = build(scenario).run()

    assert told["faults"][0]["ranks"] == [1, 3]
    assert (result.periods.computing == healthy.periods.computing).all()


def test_faults_add_up_and_each_is_reported_with_its_own_cost() -> None:
    entries = (
        FaultEntry(kind="compute_hotspot", strength=0.2),
        FaultEntry(kind="tail_long", strength=0.1),
        FaultEntry(kind="memory_leak"),
    )
    _, told = planted(base("compute_hotspot"), *entries)

    gains = [fault["gain_us"] for fault in told["faults"]]
    assert gains[0] > gains[1] > gains[2] == 0
    assert sum(gains) == pytest.approx(told["step_us"] - told["step_without_faults_us"], rel=0.1)


def test_noise_elsewhere_is_the_same_with_and_without_a_fault() -> None:
    scenario = base("compute_hotspot")
    healthy = build(scenario).run()
    faulty, _ = planted(scenario, FaultEntry(kind="compute_hotspot", ranks=(0,)))

    assert (healthy.periods.computing[1:] == faulty.periods.computing[1:]).all()
    assert (healthy.periods.computing[0] < faulty.periods.computing[0]).all()


@pytest.mark.parametrize("kind", sorted(LOOK_ALIKES))
def test_a_look_alike_costs_less_than_anything_that_counts(kind: str) -> None:
    """But for a whole run that is slower, for which there is nobody to compare with, and for single steps."""
    bases = {"rotating_hot_expert": "expert_imbalance", "small_stage_difference": "stage_imbalance"}
    scenario = base(bases.get(kind, ""), noise="none")
    healthy = build(scenario).run()
    looking = msgspec.structs.replace(scenario, look_alikes=(FaultEntry(kind=kind),))
    faults, look_alikes = planted_faults(looking)
    result = build(looking, look_alikes).run()

    assert faults == []
    usual = np.median(result.periods.lengths(3)) / np.median(healthy.periods.lengths(3))
    if kind == "equal_slowdown":
        assert usual > 1.1
    else:
        assert usual < 1 + finding_facts().strength.mild_share


def test_a_cause_that_a_fault_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="no cause weather"):
        planted(base("slow_rank"), FaultEntry(kind="slow_rank", cause="weather"))


@pytest.mark.parametrize(
    ("entry", "lacking", "said"),
    [
        (FaultEntry(kind="expert_imbalance", amount=2.0), {}, "workload.experts"),
        (
            FaultEntry(kind="data_starved", cause="processing", amount=2.0),
            {"input": Input(mode="none")},
            "input.stages",
        ),
        (FaultEntry(kind="slow_rank", cause="data"), {"input": Input(mode="none")}, "input.stages"),
        (FaultEntry(kind="stage_imbalance", cause="layers"), {"plan": Plan(dp=4)}, "plan.pp above 1"),
        (FaultEntry(kind="slow_host"), {"host": Host(ranks=8)}, "several hosts"),
        (FaultEntry(kind="slow_link", cause="card"), {"host": Host(ranks=8)}, "several hosts"),
        (FaultEntry(kind="retransmission", amount=1.0), {"plan": Plan(tp=4)}, "plan.dp or plan.cp"),
        (FaultEntry(kind="redistribution", amount=1.0), {"plan": Plan(pp=2)}, "plan.dp, plan.tp or plan.cp"),
        (FaultEntry(kind="slow_rank", amount=1.0), {"plan": Plan()}, "several ranks"),
        # A key that says where or when, and means nothing, would make the truth accuse the wrong ones.
        (FaultEntry(kind="small_packets", ranks=(1,)), {}, "does not take ranks"),
        (FaultEntry(kind="slow_rank", links=((0, 1),)), {}, "does not take links"),
        (FaultEntry(kind="pipeline_bubble", stage=1), {"plan": Plan(pp=2, micro_batches=4)}, "does not take stage"),
        (FaultEntry(kind="slow_rank", ranks=(1,), hosts=(0,)), {}, "has hosts, ranks"),
        (FaultEntry(kind="slow_rank", steps=(4,), every=2), {}, "has every, steps"),
        # Where nothing of the kind happens, or over a link that nobody uses.
        (FaultEntry(kind="data_starved", cause="transfer", amount=0.1, ranks=(3,)), _PIPELINE, "next to nothing"),
        (FaultEntry(kind="slow_link", links=((0, 2),), amount=9.0), {"host": Host(ranks=8)}, "next to nothing"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_a_fault_that_the_job_cannot_have_is_refused(entry: FaultEntry, lacking: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        planted(base("slow_rank", **lacking), entry)
    assert entry.kind in str(refused.value)


@pytest.mark.parametrize(
    ("entry", "changes"),
    [
        (FaultEntry(kind="retransmission", amount=0.2, every=2), {}),
        (FaultEntry(kind="small_packets", amount=2.0), {}),
        (FaultEntry(kind="slow_link", cause="card", amount=1.0, ranks=(1,)), {"host": Host(ranks=2)}),
        (FaultEntry(kind="slow_link", amount=1.0, links=((1, 2),)), {}),
        (FaultEntry(kind="stage_imbalance", cause="last_stage", amount=2.0), _PIPELINE),
        (FaultEntry(kind="precision_headroom", amount=0.3), {}),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_a_fault_that_is_planted_twice_costs_more_than_once(entry: FaultEntry, changes: dict[str, Any]) -> None:
    """Each acts on what the other left; none takes the other's place."""
    scenario = base("slow_rank", noise="none", **changes)
    once, _ = planted(scenario, entry)
    twice, told = planted(scenario, entry, entry)

    assert twice.step_ns - once.step_ns > 0.5 * (once.step_ns - build(scenario).run().step_ns)
    assert [fault["gain_us"] for fault in told["faults"]] == pytest.approx([(twice.step_ns - once.step_ns) / 1000] * 2)


@pytest.mark.parametrize("kind", ["compute_hotspot", "layout_conversion", "kernel_fusion", "tail_long", "idle_gap"])
def test_an_amount_that_is_a_share_of_the_step_costs_that_share(kind: str) -> None:
    scenario = base(kind, noise="none", plan=Plan())
    healthy = build(scenario).run()
    result, _ = planted(scenario, FaultEntry(kind=kind, amount=0.25))
    assert result.step_ns / healthy.step_ns - 1 == pytest.approx(0.25, rel=0.05)


@pytest.mark.parametrize("amount", [0.2, 3.0, 30.0])
def test_uneven_sequences_are_as_many_tokens_as_even_ones(amount: float) -> None:
    scenario = base("sequence_imbalance", noise="none")
    (fault,), _ = planted_faults(
        msgspec.structs.replace(scenario, faults=(FaultEntry(kind="sequence_imbalance", amount=amount),))
    )
    lengths = build(scenario, [fault]).machine.conditions.length
    assert lengths.mean(axis=(0, 2)) == pytest.approx(np.ones(lengths.shape[1]), rel=2e-3)
    assert lengths.min() > 0


@pytest.mark.parametrize(("noise", "widest"), [("quiet", 0.01), ("wide", 0.1)])
def test_ranks_differ_as_much_as_the_noise_says(noise: str, widest: float) -> None:
    result = build(small(noise=noise, plan=Plan(dp=64), steps=12)).run()

    computing = result.periods.computing[:, 3:].mean(axis=1)
    spread = np.ptp(computing) / computing.mean()
    assert widest / 4 < spread < widest


@pytest.mark.parametrize("name", names())
def test_every_scenario_of_the_library_can_be_read(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.about
    for entry in scenario.faults:
        assert entry.kind in kinds()


@pytest.mark.parametrize("amount", [0.5, 30.0])
def test_experts_share_as_many_tokens_as_ever(amount: float) -> None:
    """The hot one of four gets 1 + amount tokens for each of another's, in each group of experts alike."""
    entry = FaultEntry(kind="expert_imbalance", amount=amount)
    scenario = base("expert_imbalance", noise="none", plan=Plan(dp=8, ep=4, pp=2), faults=(entry,))
    factors = build(scenario, planted_faults(scenario)[0]).machine.conditions.experts
    hot, other = 4 * (1 + amount) / (4 + amount), 4 / (4 + amount)
    assert np.ptp(factors, axis=1) == pytest.approx(0)
    assert factors[:, 0].tolist() == pytest.approx([hot, other, other, other] * 4)
