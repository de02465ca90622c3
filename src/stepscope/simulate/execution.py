"""Runs the programs of all stages, step by step: time as arrays over the ranks of a stage.

A host launches its instructions one after another through a queue of bounded length; the device runs what was launched
in the order of each stream; a collective begins when the last of its group has arrived. Host-bound steps, device-bound
steps, hosts that run steps ahead and waiting for others are not modelled: they follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Final

import numpy as np

from stepscope.arrays import Float64s, Int64s
from stepscope.errors import UsageError
from stepscope.facts.simulation import simulation_facts
from stepscope.simulate.clocks import Clocks
from stepscope.simulate.conditions import BESIDE_COMPUTE, Conditions
from stepscope.simulate.data_pipeline import InputPipeline
from stepscope.simulate.instructions import COMPUTE, STREAMS, Block, Instruction
from stepscope.simulate.launch_queue import LaunchQueue
from stepscope.simulate.lengths import StageLengths, StepLengths
from stepscope.simulate.memory import MemoryPlan
from stepscope.simulate.network import Links, collective_cost
from stepscope.simulate.noise import MEETING, Noise
from stepscope.simulate.plan import Layout
from stepscope.simulate.program import StageProgram
from stepscope.simulate.recording import DeviceTimes, InstructionTimes, Recorder
from stepscope.simulate.scenario import Scenario

_GET_NS: Final = 20_000  # to hand over a batch that lies ready
_LONGEST_NS: Final = 10**15  # more than eleven days: clocks, which drift by parts of a billion, count up to it
Key = tuple[str, int, int]


@dataclass
class Machine:
    """All that a run needs besides its programs."""

    scenario: Scenario
    layout: Layout
    links: Links
    conditions: Conditions
    noise: Noise
    clocks: Clocks
    memory: MemoryPlan = field(default_factory=MemoryPlan)


@dataclass
class Periods:
    """How long each step took, by rank and simulated step: the model's own account of the step's time."""

    host_start: Int64s
    device_end: Int64s
    computing: Int64s
    waiting: Int64s  # in communication, for the last to arrive

    def same_as(self, other: Periods) -> bool:
        """Whether no rank differs in any step."""
        return all(np.array_equal(getattr(self, each.name), getattr(other, each.name)) for each in fields(self))

    def lengths(self, before: int) -> Int64s:
        """Periods of the recorded steps: from the end of all earlier work to the end of the step's own."""
        end = np.maximum.accumulate(self.device_end, axis=1)
        start = np.empty_like(end)
        start[:, 1:] = end[:, :-1]
        start[:, 0] = self.host_start[:, 0]
        start[:, before] = np.maximum(start[:, before], self.host_start[:, before])
        return np.asarray((end - start)[:, before:], np.int64)


@dataclass
class _Stage:
    """Where the ranks of a stage are in time. Arrays are replaced, never changed."""

    program: StageProgram
    lengths: StageLengths
    ranks: Int64s
    host: Int64s
    tails: dict[str, Int64s]
    queue: LaunchQueue
    waiting: Int64s
    next_block: int = 0
    now: StepLengths = field(init=False)
    host_costs: dict[float, Int64s] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return self.program.stage


@dataclass
class _Sent:
    """A transfer whose sender is ready and whose receiver is not there yet."""

    stage: _Stage
    row: int
    stream: str
    ready: Int64s
    size: int


@dataclass
class Execution:
    """One run of a job."""

    machine: Machine
    programs: list[StageProgram]
    recorder: Recorder
    input: InputPipeline | None = None
    _stages: list[_Stage] = field(default_factory=list)
    _sent: dict[Key, _Sent] = field(default_factory=dict)
    _arrived: dict[int, tuple[int, Int64s]] = field(default_factory=dict)  # at the meeting of all, by stage
    _met: bool = False
    _costs: dict[tuple[object, ...], Float64s] = field(default_factory=dict)
    _step_number: int = 0

    def run(self, steps: int) -> Periods:
        """Simulate so many steps from a standing start."""
        scenario, world = self.machine.scenario, self.machine.layout.world
        usual, host = simulation_facts().host, scenario.host
        self._operator_ns = (usual.operator_us if host.operator_us is None else host.operator_us) * 1000
        self._latency_ns = int((usual.latency_us if host.latency_us is None else host.latency_us) * 1000)
        self._return_ns = int(usual.return_us * 1000) if self._latency_ns else 0
        self._on_host = scenario.device.kind == "cpu"
        queue = host.queue_length or usual.queue_length
        for program in self.programs:
            ranks = self.machine.layout.stage_ranks(program.stage)
            nothing = np.zeros(len(ranks), np.int64)
            tails = dict.fromkeys(STREAMS, nothing)
            lengths = StageLengths(program, ranks)
            launches = LaunchQueue(queue, len(ranks))
            self._stages.append(_Stage(program, lengths, ranks, nothing, tails, launches, nothing))
        account = Periods(*(np.zeros((world, steps), np.int64) for _ in range(4)))
        for step in range(steps):
            try:
                with np.errstate(invalid="raise", over="raise"):
                    self._step(step, account)
            except FloatingPointError:
                raise UsageError("scenario_too_long") from None
            ends = account.device_end[:, step]
            if ends.min() < 0 or ends.max() > _LONGEST_NS:
                raise UsageError("scenario_too_long")
        return account

    def _step(self, step: int, account: Periods) -> None:
        self.recorder.begin_step(step)
        self._step_number = step
        for stage in self._stages:
            stage.next_block = 0
            stage.now = stage.lengths.of_step(step, self.machine.conditions, self.machine.noise)
            stage.host_costs.clear()
            stage.waiting = np.zeros(len(stage.ranks), np.int64)
            account.host_start[stage.ranks, step] = stage.host
        unfinished = True
        while unfinished:
            unfinished, moved = False, False
            for stage in self._stages:
                blocks = stage.program.blocks
                while stage.next_block < len(blocks) and self._can_run(blocks[stage.next_block]):
                    self._run_block(stage, blocks[stage.next_block])
                    stage.next_block += 1
                    moved = True
                unfinished |= stage.next_block < len(blocks)
            assert moved, "the schedule waits for itself"
        self._sent.clear()
        self._arrived.clear()
        self._met = False
        for stage in self._stages:
            self.recorder.end_mark(stage.number, stage.host)
            end = stage.host if self._on_host else np.max(list(stage.tails.values()), axis=0)
            account.device_end[stage.ranks, step] = end
            account.computing[stage.ranks, step] = stage.now.computing
            account.waiting[stage.ranks, step] = stage.waiting
        self.recorder.end_step(step)

    def _can_run(self, block: Block) -> bool:
        if block.needs is None:
            return True
        if block.kind == "optimizer":
            return not self._meets or len(self._arrived) == len(self.programs)
        return block.needs in self._sent

    @property
    def _meets(self) -> bool:
        return any(each.dimension == "world" for each in self.programs[0].blocks[-2].instructions)

    def _run_block(self, stage: _Stage, block: Block) -> None:
        if block.kind == "optimizer" and self._arrived and not self._met:
            self._meet()
        for row, instruction in enumerate(block.instructions, block.first_row):
            action = instruction.action
            if action == "kernel":
                self._kernel(stage, instruction, row)
            elif action == "collective":
                self._collective(stage, instruction, row)
            elif action in ("send", "receive"):
                self._transfer(stage, instruction, row)
            elif action in ("get", "get_device"):
                self._get(stage, instruction, row)
            else:
                self._host_only(stage, instruction, row)

    # Work on the device.

    def _kernel(self, stage: _Stage, instruction: Instruction, row: int) -> None:
        length = stage.now.time(row)
        if self._on_host:
            begin = stage.host
            for name in instruction.after:
                begin = np.maximum(begin, stage.tails[name])
            begin = np.where(length > 0, begin, stage.host)
            stage.host = stage.tails[COMPUTE] = end = begin + length
            self.recorder.add(
                stage.number, row, instruction, InstructionTimes(begin, end, DeviceTimes(begin, end, begin))
            )
            return
        begin, called, start = self._call(stage, instruction, length if instruction.times_ns is not None else None)
        end = start + length
        if instruction.times_ns is not None:  # on ranks that the fault spares nothing happens
            end = np.where(length > 0, end, stage.tails[instruction.stream])
        stage.tails[instruction.stream] = end
        self.recorder.add(
            stage.number, row, instruction, InstructionTimes(begin, called, DeviceTimes(start, end, start))
        )

    def _call(
        self, stage: _Stage, instruction: Instruction, only_where: Int64s | None = None
    ) -> tuple[Int64s, Int64s, Int64s]:
        """The host launches something: when it begins to, when it is done, when the device can begin with it."""
        begin = np.maximum(stage.host, stage.queue.room())
        spent = self._host_cost(stage, instruction)
        launched = None if only_where is None else only_where > 0
        if launched is not None:
            spent = np.where(launched, spent, 0)
            begin = np.where(launched, begin, stage.host)
        stage.host = called = begin + spent
        start = np.maximum(called + self._latency_ns, stage.tails[instruction.stream])
        for name in instruction.after:
            start = np.maximum(start, stage.tails[name])
        stage.queue.add(start, launched)
        return begin, called, start

    def _host_cost(self, stage: _Stage, instruction: Instruction) -> Int64s:
        cost = self._operator_ns if instruction.host_ns is None else instruction.host_ns
        known = stage.host_costs.get(cost)
        if known is None:
            known = stage.host_costs[cost] = np.rint(cost * stage.now.host).astype(np.int64)
        return known

    # Between ranks.

    def _collective(self, stage: _Stage, instruction: Instruction, row: int) -> None:
        begin, called, arrived = self._call(stage, instruction)
        if instruction.dimension == "world":
            self._arrived[stage.number] = (row, arrived)
            self.recorder.add(
                stage.number, row, instruction, InstructionTimes(begin, called, DeviceTimes(arrived, arrived, arrived))
            )
            return
        layout, dimension = self.machine.layout, instruction.dimension
        by_group = layout.in_groups(arrived, dimension)
        latest = by_group.argmax(axis=1)
        each = np.arange(len(latest))
        start = layout.spread(by_group[each, latest], dimension)
        last = layout.spread(layout.in_groups(stage.ranks, dimension)[each, latest], dimension)
        cost = self._cost(stage, instruction)
        conditions = self.machine.conditions.communication
        beside = conditions.get(BESIDE_COMPUTE) if instruction.beside_compute else None
        for factors in (conditions.get(dimension), beside, instruction.factor):
            if factors is not None:
                slowest = layout.in_groups(factors[stage.ranks, self._step_number], dimension).max(axis=1)
                cost = cost * layout.spread(slowest, dimension)
        # Members of a group are not done at the very same moment.
        stage.tails[instruction.stream] = end = start + np.rint(cost + stage.now.late(row)).astype(np.int64)
        stage.waiting = stage.waiting + (start - arrived)
        self.recorder.add(
            stage.number, row, instruction, InstructionTimes(begin, called, DeviceTimes(arrived, end, start, last))
        )

    def _cost(self, stage: _Stage, instruction: Instruction) -> Float64s:
        key = (stage.number, instruction.dimension, instruction.kind, instruction.size, instruction.packets)
        if key not in self._costs:
            layout = self.machine.layout
            groups = layout.in_groups(stage.ranks, instruction.dimension)
            costs = [_packed_cost(instruction, self.machine.links, row) for row in groups.tolist()]
            self._costs[key] = layout.spread(np.array(costs), instruction.dimension).astype(np.float64)
        return self._costs[key]

    def _meet(self) -> None:
        """The collective of all ranks, once all stages have arrived."""
        world, levels = self.machine.layout.world, self.machine.noise.levels
        moments = {number: arrived for number, (_, arrived) in self._arrived.items()}
        slowest = max(moments, key=lambda number: int(moments[number].max()))
        late_rank = self._stages[slowest].ranks[int(moments[slowest].argmax())]
        last = moments[slowest].max()
        (instruction,) = [each for each in self.programs[0].blocks[-2].instructions if each.dimension == "world"]
        if ("world",) not in self._costs:
            self._costs["world",] = np.array([_packed_cost(instruction, self.machine.links, list(range(world)))])
        late = np.abs(self.machine.noise.generator(MEETING, self._step_number).standard_normal(world)) * levels.end_us
        for number, (row, arrived) in self._arrived.items():
            stage = self._stages[number]
            end = last + np.rint(self._costs["world",][0] + late[stage.ranks] * 1000).astype(np.int64)
            stage.tails["world"] = end
            stage.waiting = stage.waiting + (last - arrived)
            self.recorder.complete(number, row, end, np.full_like(arrived, last), np.full_like(arrived, late_rank))
        self._met = True

    def _transfer(self, stage: _Stage, instruction: Instruction, row: int) -> None:
        begin, called, ready = self._call(stage, instruction)
        assert instruction.key is not None
        if instruction.action == "send":
            self._sent[instruction.key] = _Sent(stage, row, instruction.stream, ready, instruction.size)
            self.recorder.add(
                stage.number, row, instruction, InstructionTimes(begin, called, DeviceTimes(ready, ready, ready))
            )
            return
        sent = self._sent[instruction.key]
        sender = sent.stage
        offered: Int64s = np.maximum(sent.ready, sender.tails[sent.stream])
        start: Int64s = np.maximum(offered, ready)
        end: Int64s = start + np.rint(self._transfer_cost(sender, stage, sent.size)).astype(np.int64)
        sender.tails[sent.stream] = stage.tails[instruction.stream] = end
        stage.waiting = stage.waiting + (start - ready)
        self.recorder.complete(sender.number, sent.row, end, start, stage.ranks, offered)
        self.recorder.add(
            stage.number,
            row,
            instruction,
            InstructionTimes(begin, called, DeviceTimes(ready, end, start, sender.ranks)),
        )

    def _transfer_cost(self, sender: _Stage, receiver: _Stage, size: int) -> Float64s:
        key = ("pp", sender.number, receiver.number, size)
        if key not in self._costs:
            links = self.machine.links
            self._costs[key] = np.array(
                [
                    collective_cost("send", size, 2, [links.between(rank, peer)]).nanoseconds
                    for rank, peer in zip(sender.ranks.tolist(), receiver.ranks.tolist(), strict=True)
                ]
            )
        factor = self.machine.conditions.communication.get("pp")
        return self._costs[key] if factor is None else self._costs[key] * factor[receiver.ranks, self._step_number]

    # What the host does and waits for.

    def _host_only(self, stage: _Stage, instruction: Instruction, row: int) -> None:
        begin = stage.host
        if instruction.action == "host":
            stage.host = begin + stage.now.time(row)
        elif instruction.action == "sync":
            done = np.maximum(begin, np.max(list(stage.tails.values()), axis=0)) + self._return_ns
            if instruction.times_ns is not None:  # a call that returns late, on the ranks that have it
                done = np.where(stage.now.time(row) > 0, done + stage.now.time(row), begin)
            stage.host = done
        self.recorder.add(stage.number, row, instruction, InstructionTimes(begin, stage.host))

    def _get(self, stage: _Stage, instruction: Instruction, row: int) -> None:
        assert self.input is not None
        ready = self.input.next_batch(self.machine.conditions.input[:, stage.ranks, self._step_number])
        begin = stage.host
        if instruction.action == "get":
            taken = np.maximum(begin, ready)
            self.input.take(begin, taken)
            stage.host = taken + _GET_NS
            self.recorder.add(stage.number, row, instruction, InstructionTimes(begin, stage.host))
            return
        asked = np.maximum(begin + self._latency_ns, stage.tails[COMPUTE])
        stage.tails[COMPUTE] = taken = np.maximum(asked, ready)
        self.input.take(asked, taken)
        self.recorder.add(
            stage.number, row, instruction, InstructionTimes(begin, begin, DeviceTimes(asked, taken, taken))
        )


def _packed_cost(instruction: Instruction, links: Links, ranks: list[int]) -> float:
    """A message that is cut into many packets pays the latency of each."""
    ring = links.ring(ranks)
    cost = collective_cost(instruction.kind, instruction.size, len(ranks), ring)
    return cost.nanoseconds + (instruction.packets - 1) * max(link.latency_ns for link in ring)
