"""What a rank's host does one after another, and what of it runs on the device: the words of a simulated program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from stepscope.arrays import Float64s
from stepscope.simulate.schedule import Turn

Action = Literal[
    "kernel",  # the host launches it, the device runs it in the order of its stream
    "collective",  # the same, but it begins when the last of its group has arrived
    "send",
    "receive",
    "host",  # the host itself is busy
    "sync",  # the host waits until all streams are done
    "get",  # the host waits for its next batch
    "get_device",  # the device waits for its next batch
    "step",  # a step begins
]
Grows = Literal["none", "tokens", "attention", "experts"]

#: Streams of a device. What shares one runs in order.
COMPUTE: Final = "compute"
FORWARD_SEND, FORWARD_RECEIVE = "forward_send", "forward_receive"
BACKWARD_SEND, BACKWARD_RECEIVE = "backward_send", "backward_receive"
STREAMS: Final = (
    COMPUTE,
    "tp",
    "cp",
    "ep",
    "dp",
    "world",
    FORWARD_SEND,
    FORWARD_RECEIVE,
    BACKWARD_SEND,
    BACKWARD_RECEIVE,
)


@dataclass(frozen=True, eq=False)
class Instruction:
    """One thing to do. ``operator`` is a kind of facts/simulated_operators.toml, or a name where ``name`` is empty."""

    action: Action
    operator: str = ""
    name: str = ""  # of the slice, where the kind of operator does not tell it
    slice_kind: str = "kernel"
    ns: float = 0.0  # of the device; of the host where the host is busy
    host_ns: float | None = None  # of the operator on the host; None is what operators usually cost
    times_ns: Float64s | None = None  # (ranks, steps), instead of ``ns``: what a fault adds, without noise
    stream: str = COMPUTE
    after: tuple[str, ...] = ()  # streams whose work so far must be done
    phase: str = "forward"
    module: str = ""
    shapes: str = ""
    dtype: str = ""
    core: str = ""
    size: int = 0  # bytes of a collective or copy
    packets: int = 1
    kind: str = ""  # of a collective
    dimension: str = ""
    factor: Float64s | None = None  # (ranks, steps): on the time of this one
    grows: Grows = "none"  # with what of a micro-batch its time grows
    key: tuple[str, int, int] | None = None  # of a transfer between stages: direction, micro-batch, receiving chunk
    holds_up: bool = False  # the next kernel waits for it, where a fault put it in
    beside_compute: bool = False  # a collective that runs while the device goes on computing
    planted: bool = False  # by a fault; it has no noise, so that nobody else's changes
    keeps_bytes: int = 0  # of activations, until backward of the same layer and micro-batch
    stack: str = ""


@dataclass
class Block:
    """Instructions that follow each other; ``needs`` must have been sent or reached before any of them can run."""

    kind: Literal["begin", "turn", "finish", "optimizer"]
    turn: Turn | None = None
    needs: tuple[str, int, int] | None = None
    instructions: list[Instruction] = field(default_factory=list)
    first_row: int = 0
