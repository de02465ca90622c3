"""The program of a pipeline stage: what its ranks do in a step, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from stepscope.simulate.devices import Rates
from stepscope.simulate.instructions import (
    BACKWARD_RECEIVE,
    BACKWARD_SEND,
    COMPUTE,
    FORWARD_RECEIVE,
    FORWARD_SEND,
    Block,
    Instruction,
)
from stepscope.simulate.plan import layers_of_chunks
from stepscope.simulate.scenario import Operator, Scenario
from stepscope.simulate.schedule import Turn, turns
from stepscope.simulate.workload import Piece, Transformer

Where = Literal[
    "step_begin",
    "after_input",
    "layer_forward",
    "layer_backward",
    "turn_end",
    "before_reduce",
    "before_optimizer",
    "step_end",
]
#: Host to device over PCIe; origin: 64 GB/s of PCIe 5 x16 less overhead, half of it where memory is not pinned.
_COPY_GB_PER_S: Final = 40.0
_OPTIMIZER_KERNELS: Final = 8
_MB: Final = 1_000_000


@dataclass(frozen=True)
class Point:
    """A place in a stage's program where a fault may put instructions."""

    where: Where
    stage: int
    phase: str
    micro_batch: int = 0
    layer: int = 0


Insert = Callable[[Point], Iterable[Instruction]]
Rewrite = Callable[[Instruction], Instruction]


@dataclass
class StageProgram:
    """The blocks of a stage, and how many instructions they have in all."""

    stage: int
    blocks: list[Block]
    rows: int = 0

    def __post_init__(self) -> None:
        for block in self.blocks:
            block.first_row = self.rows
            self.rows += len(block.instructions)

    @property
    def instructions(self) -> list[Instruction]:
        return [instruction for block in self.blocks for instruction in block.instructions]


def stage_program(scenario: Scenario, stage: int, insert: Insert, rewrite: Rewrite) -> StageProgram:
    """What the ranks of a stage do in one step, with what faults put in and change."""
    blocks = _Builder(scenario, stage, insert).blocks()
    for block in blocks:
        block.instructions = [each if each.planted else rewrite(each) for each in block.instructions]
    return StageProgram(stage, blocks)


class _Builder:
    def __init__(self, scenario: Scenario, stage: int, insert: Insert) -> None:
        self.scenario, self.stage, self._insert = scenario, stage, insert
        self.plan, self.workload = scenario.plan, scenario.workload
        self.model = Transformer(scenario.workload, scenario.plan)
        self.rates = Rates(scenario.device)
        self.last = stage == self.plan.pp - 1
        chunks = layers_of_chunks(self.workload.layers, self.plan)
        self.layers = [chunks[chunk * self.plan.pp + stage] for chunk in range(self.plan.chunks)]
        self._waits: list[str] = []  # streams that the next kernel must wait for
        if self._gradient_group and self.workload.forward and not self.workload.optimizer:
            self._waits.append("dp")  # without an update that waits for gradients the next forward pass does

    def blocks(self) -> list[Block]:
        plan = self.plan
        order = turns(plan.schedule, self.stage, plan.pp, plan.micro_batches, plan.chunks)
        return [self._begin(), *(self._turn(turn) for turn in order), self._finish(), self._optimizer()]

    # The parts of a step, in order.

    def _begin(self) -> Block:
        instructions = [Instruction("step", slice_kind="step", phase="")]
        instructions += self._inserted("step_begin", "data")
        instructions += self._input()
        instructions += self._inserted("after_input", "data")
        if self.scenario.host.python_us:
            instructions.append(Instruction("host", slice_kind="", ns=self.scenario.host.python_us * 1000, phase=""))
        if self.workload.gradients == "reduce_scatter" and self._gradient_group:
            # What the last update left on each rank goes to all; it cannot before that update is done.
            size = self._parameters * self.model.element
            gather = self._collective("all_gather", "dp", size, "optimizer", "forward", (COMPUTE,))
            instructions.append(replace(gather, dtype=self.workload.dtype))
            self._waits = ["dp"]
        return Block("begin", instructions=instructions)

    def _input(self) -> list[Instruction]:
        entry = self.scenario.input
        if self.stage or entry.mode == "none" or not entry.stages:
            return []
        name, size = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", int(entry.copy_mb * _MB)
        if entry.mode == "sink":
            return [Instruction("get_device", name="GetNext", slice_kind="wait", phase="data")]
        get = Instruction("get", name=name, slice_kind="annotation", phase="data")
        if not size or self.scenario.device.kind == "cpu":
            return [get]
        copy = Instruction(
            "kernel",
            operator="aten::copy_",
            name="Memcpy HtoD (Pinned -> Device)",
            slice_kind="copy",
            ns=size / _COPY_GB_PER_S,
            size=size,
            phase="forward",
        )
        return [get, copy]

    def _turn(self, turn: Turn) -> Block:
        forward = turn.direction == "forward"
        instructions, needs = self._receive(turn)
        layers = self.layers[turn.chunk]
        number = turn.chunk * self.plan.pp + self.stage
        first, last = number == 0, number == self.plan.pp * self.plan.chunks - 1
        if self.workload.forward and forward:
            instructions += self._measured(self.workload.forward, turn.direction)
        elif self.workload.forward:
            measured = self._measured(self.workload.backward, turn.direction)
            for position, instruction in enumerate(measured):
                instructions += [instruction, *self._bucket(turn, position, len(measured))]
        elif forward:
            instructions += self._pieces(self.model.embedding(), turn.direction) if first else []
            for layer in layers:
                instructions += self._pieces(self.model.forward(layer), turn.direction)
                instructions += self._inserted("layer_forward", turn.direction, turn.micro_batch, layer)
            instructions += self._pieces(self.model.head(), turn.direction) if last else []
        else:
            instructions += self._pieces(self.model.head_backward(), turn.direction) if last else []
            for position, layer in enumerate(reversed(layers)):
                instructions += self._pieces(self.model.backward(layer), turn.direction)
                instructions += self._inserted("layer_backward", turn.direction, turn.micro_batch, layer)
                instructions += self._bucket(turn, position, len(layers))
        instructions += self._inserted("turn_end", turn.direction, turn.micro_batch)
        return Block("turn", turn, needs, [*instructions, *self._send(turn)])

    def _finish(self) -> Block:
        instructions: list[Instruction] = []
        instructions += self._inserted("before_reduce", "backward")
        if not self.workload.overlap:
            size, count = self.model.gradient_bytes(self._parameters), self.workload.buckets
            instructions += [self._gradients(size // count) for _ in range(count)] if self._gradient_group else []
        self._waits += ["dp"] if self._gradient_group else []
        instructions += self._inserted("before_optimizer", "optimizer")
        if self.scenario.world > 1 and not self.workload.forward:
            instructions += self._pieces([self.model.clip(self._updated)], "optimizer")
            instructions.append(self._collective("all_reduce", "world", 8, "optimizer", "optimizer", (COMPUTE,)))
        return Block("finish", instructions=instructions)

    def _optimizer(self) -> Block:
        self._waits += ["world"] if self.scenario.world > 1 and not self.workload.forward else []
        if self.workload.optimizer:
            instructions = self._measured(self.workload.optimizer, "optimizer")
        elif self.workload.forward:
            instructions = []
        else:
            instructions = self._pieces(self.model.optimizer(self._updated, _OPTIMIZER_KERNELS), "optimizer")
        instructions += self._inserted("step_end", "optimizer")
        if self.scenario.host.sync_every_step and self.scenario.device.kind != "cpu":
            instructions.append(Instruction("sync", operator="aten::item", slice_kind="runtime", phase="optimizer"))
        return Block("optimizer", needs=("world", 0, 0), instructions=instructions)

    # What they are made of.

    @property
    def _gradient_group(self) -> bool:
        return self.plan.dp * self.plan.cp > 1

    @property
    def _parameters(self) -> int:
        if self.workload.gradient_mb is not None:
            return int(self.workload.gradient_mb * _MB / 4)
        layers = sum(map(len, self.layers))
        outer = (self.stage == 0) + self.last
        return layers * self.model.layer_parameters() + outer * self.model.outer_parameters()

    @property
    def _updated(self) -> int:
        return self.model.updated(self._parameters)

    def _bucket(self, turn: Turn, position: int, layers: int) -> list[Instruction]:
        """Gradients are reduced in the last micro-batch's backward pass, bucket by bucket."""
        last = turn.micro_batch == self.plan.micro_batches - 1
        if not (self._gradient_group and self.workload.overlap and last):
            return []
        count = max(self.workload.buckets // self.plan.chunks, 1)
        due = (position + 1) * count // layers - position * count // layers
        size = self.model.gradient_bytes(self._parameters) // (count * self.plan.chunks)
        goes_on = position + 1 < layers  # backward of further layers runs meanwhile
        return [replace(self._gradients(size), beside_compute=goes_on) for _ in range(due)]

    def _gradients(self, size: int) -> Instruction:
        return self._collective(self.workload.gradients, "dp", size, "gradients", "backward", (COMPUTE,))

    def _receive(self, turn: Turn) -> tuple[list[Instruction], tuple[str, int, int] | None]:
        """Where the chunk does not begin the pass, its input comes from another stage."""
        number, forward = turn.chunk * self.plan.pp + self.stage, turn.direction == "forward"
        if self.plan.pp == 1 or (number == 0 if forward else number == self.plan.pp * self.plan.chunks - 1):
            return [], None
        key = (turn.direction, turn.micro_batch, number)
        stream = FORWARD_RECEIVE if forward else BACKWARD_RECEIVE
        receive = self._transfer("receive", stream, turn, key)
        self._waits.append(stream)
        return [receive], key

    def _send(self, turn: Turn) -> list[Instruction]:
        number, forward = turn.chunk * self.plan.pp + self.stage, turn.direction == "forward"
        if self.plan.pp == 1 or (number == self.plan.pp * self.plan.chunks - 1 if forward else number == 0):
            return []
        key = (turn.direction, turn.micro_batch, number + 1 if forward else number - 1)
        return [self._transfer("send", FORWARD_SEND if forward else BACKWARD_SEND, turn, key)]

    def _transfer(
        self, kind: Literal["send", "receive"], stream: str, turn: Turn, key: tuple[str, int, int]
    ) -> Instruction:
        return Instruction(
            kind,
            slice_kind="collective",
            kind=kind,
            dimension="pp",
            stream=stream,
            after=tuple(dict.fromkeys((COMPUTE, *self._waits))) if kind == "send" else (COMPUTE,),
            size=self.model.activation_bytes // self.plan.tp,  # each tensor-parallel rank sends its part
            phase=turn.direction,
            dtype=self.workload.dtype,
            key=key,
        )

    def _collective(
        self, kind: str, dimension: str, size: int, module: str, phase: str, after: tuple[str, ...]
    ) -> Instruction:
        return Instruction(
            "collective",
            slice_kind="collective",
            kind=kind,
            dimension=dimension,
            size=size,
            module=module,
            phase=phase,
            stream=dimension,
            after=after,
            dtype="fp32" if dimension in ("dp", "world") else self.workload.dtype,
        )

    def _pieces(self, pieces: list[Piece], phase: str) -> list[Instruction]:
        instructions = []
        for piece in pieces:
            if piece.kind:
                after = tuple(dict.fromkeys((COMPUTE, *self._take_waits())))  # one exchange works on another's result
                made = self._collective(piece.kind, piece.dimension, piece.size, piece.module, phase, after)
                instructions.append(made)
                self._waits.append(piece.dimension)
                continue
            dtype = "fp32" if piece.operator in ("adam", "clip") else self.workload.dtype
            instructions.append(
                Instruction(
                    "kernel",
                    operator=piece.operator,
                    ns=self.rates.kernel_ns(piece.operator, piece.flops, piece.moved_bytes, dtype),
                    after=self._take_waits(),
                    phase=phase,
                    module=piece.module,
                    shapes=piece.shapes,
                    dtype=dtype,
                    grows=piece.grows,
                    keeps_bytes=piece.keeps_bytes,
                )
            )
        return instructions

    def _measured(self, operators: tuple[Operator, ...], phase: str) -> list[Instruction]:
        return [
            Instruction(
                "kernel",
                operator=entry.name,
                name=entry.name,
                ns=entry.kernel_us * 1000,
                host_ns=None if entry.operator_us is None else entry.operator_us * 1000,
                after=self._take_waits(),
                phase=phase,
                dtype=self.workload.dtype,
            )
            for entry in operators
            for _ in range(entry.count)
        ]

    def _inserted(self, where: Where, phase: str, micro_batch: int = 0, layer: int = 0) -> list[Instruction]:
        point = Point(where, self.stage, phase, micro_batch, layer)
        instructions = [replace(instruction, planted=True) for instruction in self._insert(point)]
        self._waits += [instruction.stream for instruction in instructions if instruction.holds_up]
        return instructions

    def _take_waits(self) -> tuple[str, ...]:
        waits, self._waits = tuple(dict.fromkeys(self._waits)), []
        return waits
