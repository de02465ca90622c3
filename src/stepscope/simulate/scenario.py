"""A scenario: the training job, its machines, and what is wrong with it. Read from TOML (docs/simulate.md)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from stepscope.facts.simulation import Transport

Positive = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Factor = Annotated[float, msgspec.Meta(gt=0)]
Microseconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
#: Each is built as objects of its own, so that many more would fill the memory.
Repetitions = Annotated[int, msgspec.Meta(ge=1, le=10_000)]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all parts of a scenario have in common: a word that is not known is an error."""


class Plan(Settings, frozen=True, kw_only=True):
    """Sizes of the parallel dimensions; experts are split within data parallelism."""

    dp: Positive = 1
    tp: Positive = 1
    pp: Positive = 1
    ep: Positive = 1
    cp: Positive = 1
    schedule: Literal["1f1b", "gpipe"] = "1f1b"
    chunks: Positive = 1  # model chunks of a stage; more than one is the interleaved schedule
    micro_batches: Repetitions = 1


class Device(Settings, frozen=True, kw_only=True):
    """The device by its product name, or rates of its own."""

    name: str = "NVIDIA H200"
    kind: Literal["gpu", "npu", "cpu"] = "gpu"
    tflops: Factor | None = None
    memory_gb_per_s: Factor | None = None
    efficiency: Factor | None = None
    least_kernel_us: Microseconds | None = None
    memory_gib: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 96.0


class Host(Settings, frozen=True, kw_only=True):
    """What the host does beside launching, and what launching costs it."""

    ranks: Positive = 8
    operator_us: Microseconds | None = None
    latency_us: Microseconds | None = None
    queue_length: Positive | None = None
    sync_every_step: bool = False  # as `loss.item()` does
    python_us: Microseconds = 200.0  # of a step: logging, scheduler, the loop itself


class Network(Settings, frozen=True, kw_only=True):
    """Transports within a host and between hosts; ``rates`` override the usual ones."""

    inside: str = "NVLINK"
    between: str = "RDMA"
    rates: dict[str, Transport] = {}


class Operator(Settings, frozen=True, kw_only=True):
    """Operators of a measured workload: so many kernels of a mean duration, and what launching each takes."""

    name: str
    count: Positive
    kernel_us: Microseconds
    operator_us: Microseconds | None = None


class Workload(Settings, frozen=True, kw_only=True):
    """A transformer; or, with ``forward``, ``backward`` and ``optimizer`` given, operators as measured."""

    layers: Repetitions = 8
    hidden: Positive = 2048
    sequence: Positive = 2048
    batch: Positive = 1  # sequences in a micro-batch
    vocabulary: Positive = 8192
    experts: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    dtype: Literal["fp32", "tf32", "fp16", "bf16"] = "bf16"
    gradients: Literal["all_reduce", "reduce_scatter"] = "all_reduce"
    buckets: Repetitions = 4  # of gradients, per stage
    overlap: bool = True  # gradients are reduced while backward still runs
    forward: tuple[Operator, ...] = ()
    backward: tuple[Operator, ...] = ()
    optimizer: tuple[Operator, ...] = ()
    gradient_mb: Annotated[float, msgspec.Meta(ge=0, le=1e9)] | None = None


class Stage(Settings, frozen=True, kw_only=True):
    """A stage of the input pipeline: what a worker needs for a batch, and how many batches its output queue holds."""

    name: str
    kind: str = "Map"
    us: Microseconds
    workers: Positive = 1
    capacity: Positive = 4


class Input(Settings, frozen=True, kw_only=True):
    """The input pipeline; ``sink`` feeds the device itself, as MindSpore's data sinking does."""

    mode: Literal["feed", "sink", "none"] = "feed"
    stages: tuple[Stage, ...] = ()
    copy_mb: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 4.0


class FaultEntry(Settings, frozen=True, kw_only=True):
    """A planted fault, or a look-alike: what, where, when, how strong (a share of the step, or a word)."""

    kind: str
    cause: str = ""
    strength: Literal["clear", "mild"] | Annotated[float, msgspec.Meta(gt=0, lt=1)] = "clear"
    amount: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None  # given, nothing is calibrated
    ranks: tuple[int, ...] = ()
    hosts: tuple[int, ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    stage: int | None = None
    steps: tuple[int, ...] = ()
    every: Positive | None = None


class Scenario(Settings, frozen=True, kw_only=True):
    """All of it. ``steps`` are recorded; before them the job runs ``steps_before`` more, which fills its queues."""

    name: str
    about: str = ""
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    steps: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 6
    steps_before: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 3
    noise: Literal["none", "quiet", "wide"] = "quiet"
    framework: Literal["pytorch", "mindspore"] = "pytorch"
    level: Literal["Level0", "Level1", "Level2"] = "Level1"  # of Ascend captures
    clocks: Literal["same", "apart"] = "apart"
    plan: Plan = Plan()
    device: Device = Device()
    host: Host = Host()
    network: Network = Network()
    workload: Workload = Workload()
    input: Input = Input()
    faults: tuple[FaultEntry, ...] = ()
    look_alikes: tuple[FaultEntry, ...] = ()

    @property
    def world(self) -> int:
        return self.plan.dp * self.plan.tp * self.plan.pp * self.plan.cp
