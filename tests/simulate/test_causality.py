"""Whatever the plan and the faults, nothing happens before its cause: launches, streams, meetings, transfers, steps."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from stepscope.arrays import Bools, Int64s
from stepscope.errors import UsageError
from stepscope.simulate.calibration import planted_faults
from stepscope.simulate.faults.registry import kinds
from stepscope.simulate.instructions import STREAMS, Instruction
from stepscope.simulate.look_alikes import LOOK_ALIKES
from stepscope.simulate.model import Model, Result, build
from stepscope.simulate.recording import InstructionTimes, Recorder
from stepscope.simulate.scenario import FaultEntry, Host, Input, Plan, Scenario, Stage, Workload
from support.scenarios import CPU, GPU, LOADER, NPU, small

SINK = Input(mode="sink", stages=(*LOADER.stages, Stage(name="DeviceQueue", kind="DeviceQueue", us=100.0)))
PLANS = [
    Plan(),
    Plan(dp=3, tp=3),
    Plan(tp=2, pp=5, chunks=2, micro_batches=5),
    Plan(dp=4, ep=4, cp=2, micro_batches=2),
    Plan(dp=2, pp=3, cp=3, schedule="gpipe", micro_batches=1),
    Plan(dp=3, pp=2, micro_batches=3),
]
WORK: dict[str, Any] = {"layers": 11, "hidden": 520, "sequence": 300, "batch": 3, "vocabulary": 77, "buckets": 3}


class Row:
    """One instruction of one step: times by rank; those of a device are None where there is no device's part."""

    def __init__(self, stage: int, instruction: Instruction, times: InstructionTimes) -> None:
        self.stage, self.instruction = stage, instruction
        self.host_start, self.host_end = times.host_start, times.host_end
        device = times.device
        self.device = device is not None
        self.start = device.start if device else None
        self.end = device.end if device else None
        self.ready = device.ready if device else None
        self.last = device.last if device else None

    @property
    def happened(self) -> Bools:
        """Instructions of a fault take no time on ranks that it spares."""
        assert self.start is not None and self.end is not None
        always = self.instruction.times_ns is None
        return np.asarray((self.end > self.start) | always)


class Everything(Recorder):
    """Keeps all rows of all steps."""

    def __init__(self) -> None:
        self.steps: list[dict[tuple[int, int], Row]] = []

    def begin_step(self, step: int) -> None:
        self.steps.append({})

    def add(self, stage: int, row: int, instruction: Instruction, times: InstructionTimes) -> None:
        self.steps[-1][stage, row] = Row(stage, instruction, times)

    def complete(
        self, stage: int, row: int, end: Int64s, ready: Int64s, last: Int64s, start: Int64s | None = None
    ) -> None:
        kept = self.steps[-1][stage, row]
        kept.end, kept.ready, kept.last = end, ready, last
        kept.start = kept.start if start is None else start


def run(scenario: Scenario) -> tuple[Model, Result, Everything]:
    faults, look_alikes = planted_faults(scenario)
    model, everything = build(scenario, [*faults, *look_alikes]), Everything()
    with np.errstate(all="raise"):
        return model, model.run(everything), everything


def violations(model: Model, result: Result, everything: Everything) -> set[str]:
    """What happened before its cause, in words."""
    broken = {*_order(model, everything), *_meetings(model, everything), *_transfers(everything)}
    before, periods = model.scenario.steps_before, result.periods
    lengths = periods.lengths(before)
    end = np.maximum.accumulate(periods.device_end, axis=1)
    begin = np.maximum(end[:, before - 1] if before else 0, periods.host_start[:, before])
    if not (lengths.sum(axis=1) == end[:, -1] - begin).all():
        broken.add("periods do not add up to the window")
    if (lengths <= 0).any() or (periods.waiting < 0).any() or (periods.computing < 0).any():
        broken.add("a step without length, or a negative time")
    return broken


def _order(model: Model, everything: Everything) -> Iterator[str]:
    """Of each rank by itself: the host does one thing after another, a stream too, and nothing before its launch."""
    for stage in range(model.scenario.plan.pp):
        ranks = len(model.layout.stage_ranks(stage))
        host, tails = np.zeros(ranks, np.int64), {name: np.zeros(ranks, np.int64) for name in STREAMS}
        for step in everything.steps:
            for number in range(model.programs[stage].rows):
                row = step[stage, number]
                word = f"{row.instruction.action} {row.instruction.operator or row.instruction.kind}"
                if (row.host_start < host).any() or (number and (row.host_end < row.host_start).any()):
                    yield f"{word}: the host does two things at once"
                host = row.host_start if not number else row.host_end
                if row.start is None or row.end is None:
                    continue
                there = row.happened
                if (row.end < row.start)[there].any():
                    yield f"{word}: ends before it begins"
                on_device = model.scenario.device.kind != "cpu" and row.instruction.action != "get_device"
                if on_device and (row.start < row.host_end)[there].any():
                    yield f"{word}: begins before its launch"
                for name in (row.instruction.stream, *row.instruction.after):
                    if (row.start < tails[name])[there].any():
                        yield f"{word}: begins before {name} is done"
                tails[row.instruction.stream] = np.maximum(tails[row.instruction.stream], row.end)


def _meetings(model: Model, everything: Everything) -> Iterator[str]:
    """A collective moves data from the arrival of its last member on, whom it names."""
    layout = model.layout
    for step in everything.steps:
        meetings = [row for row in step.values() if row.instruction.action == "collective"]
        for row in meetings:
            assert row.start is not None and row.end is not None and row.ready is not None and row.last is not None
            if (row.end < row.ready).any():
                yield "a collective ends before its last member arrives"
            if row.instruction.dimension == "world":
                continue
            parts = [row.start, row.ready, row.last, layout.stage_ranks(row.stage)]
            arrived, ready, last, ranks = (layout.in_groups(part, row.instruction.dimension) for part in parts)
            latest = arrived.max(axis=1, keepdims=True)
            if (ready != latest).any():
                yield "a collective does not begin with its last member"
            if not ((ranks == last) & (arrived == latest)).any(axis=1).all():
                yield "a collective names another member as its last"
        world = [row for row in meetings if row.instruction.dimension == "world"]
        if world:
            latest_of_all = max(int(row.start.max()) for row in world if row.start is not None)
            if any(np.any(row.ready != latest_of_all) for row in world):
                yield "the meeting of all does not begin with the last"


def _transfers(everything: Everything) -> Iterator[str]:
    """Both ends of a transfer end together, not before both are ready."""
    for step in everything.steps:
        sent = {row.instruction.key: row for row in step.values() if row.instruction.action == "send"}
        received = {row.instruction.key: row for row in step.values() if row.instruction.action == "receive"}
        if sent.keys() != received.keys():
            yield "something is sent that nobody receives, or the reverse"
            continue
        for key, there in sent.items():
            here = received[key]
            assert there.start is not None and here.start is not None
            assert there.end is not None and here.end is not None and here.ready is not None
            if (there.end != here.end).any() or (here.ready != np.maximum(there.start, here.start)).any():
                yield "the ends of a transfer disagree"
            if (here.end < there.start).any():
                yield "something is received before it is sent"


@pytest.mark.parametrize("device", [GPU, NPU, CPU], ids=lambda device: device.kind)
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_nothing_happens_before_its_cause(plan: Plan, device: Any) -> None:
    work = Workload(**WORK, experts=8 if plan.ep > 1 else 0)
    loader = LOADER if device.kind == "cpu" else SINK
    host = Host(ranks=3, queue_length=2)
    scenario = small(device, plan=plan, workload=work, input=loader, host=host, noise="wide", steps=2, steps_before=1)
    assert violations(*run(scenario)) == set()


#: Everything at once needs a job that has all: hosts, stages, experts, reductions, an input pipeline.
ALL = small(
    plan=Plan(dp=2, ep=2, tp=2, pp=2, micro_batches=2),
    workload=Workload(**(WORK | {"layers": 4}), experts=4),
    host=Host(ranks=4),
    steps=3,
    steps_before=1,
)


@pytest.mark.parametrize("device", [GPU, NPU], ids=lambda device: device.kind)
@pytest.mark.parametrize("amount", [0.02, 8.0])
def test_all_faults_and_look_alikes_at_once_keep_to_cause_and_effect(amount: float, device: Any) -> None:
    faults = tuple(
        FaultEntry(kind=kind, cause=cause, amount=min(amount, 1.0) if kind == "sequence_imbalance" else amount)
        for kind, fault in sorted(kinds().items())
        for cause in fault.causes
    )
    look_alikes = tuple(FaultEntry(kind=kind) for kind in sorted(LOOK_ALIKES))
    bare = small(device, **{name: getattr(ALL, name) for name in ("plan", "workload", "host", "steps", "steps_before")})
    faults = tuple(fault for fault in faults if _possible(bare, fault))
    assert len(faults) > 35
    scenario = msgspec.structs.replace(bare, faults=faults, look_alikes=look_alikes)
    model, result, everything = run(scenario)
    assert violations(model, result, everything) == set()
    assert result.step_ns > build(bare).run().step_ns


def _possible(bare: Scenario, fault: FaultEntry) -> bool:
    """Whether it changes anything: a weak one may be hidden."""
    try:
        planted_faults(msgspec.structs.replace(bare, faults=(fault,)))
    except UsageError:
        return False
    return True


@pytest.mark.parametrize("seed", range(4))
def test_faults_that_meet_are_no_cheaper_than_the_dearest_of_them(seed: int) -> None:
    chance = random.Random(seed)
    costly = [(kind, cause) for kind, fault in sorted(kinds().items()) if fault.costs for cause in fault.causes]
    # Fewer micro-batches are larger ones, which makes kernels efficient and other faults rarer.
    costly = [pair for pair in costly if pair[0] != "pipeline_bubble"]
    bare = msgspec.structs.replace(ALL, noise="none", seed=seed)
    entries = [FaultEntry(kind=kind, cause=cause, amount=0.3) for kind, cause in chance.sample(costly, 2)]
    faults, _ = planted_faults(msgspec.structs.replace(bare, faults=tuple(entries)))
    alone = [build(bare, [fault]).run().step_ns for fault in faults]
    model, everything = build(bare, faults), Everything()
    result = model.run(everything)
    assert violations(model, result, everything) == set()
    assert result.step_ns >= max(alone) * 0.999
