"""What the simulator takes for granted: ``simulation.toml``, which says where each number comes from, typed."""

from __future__ import annotations

from typing import Annotated

import msgspec

from stepscope.facts import load


class DeviceFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which share of published rates work reaches, and rates that no table has."""

    matrix_efficiency: float
    attention_efficiency: float
    memory_efficiency: float
    least_kernel_us: float
    npu_tflops: dict[str, float]
    npu_memory_gb_per_s: float
    npu_frequency_mhz: float
    cpu_tflops: dict[str, float]
    cpu_memory_gb_per_s: float


class HostFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What launching work costs a host."""

    operator_us: float
    launch_call_us: float
    latency_us: float
    queue_length: int
    return_us: float
    runtime_call: tuple[float, float]


class Transport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of link between two ranks."""

    gb_per_s: Annotated[float, msgspec.Meta(gt=0)]
    latency_us: Annotated[float, msgspec.Meta(ge=0)]


class CollectiveFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which algorithm serves which size."""

    tree_up_to_bytes: int


class NoiseLevels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Relative standard deviations; ``rank_spread`` is the width within which ranks differ for good."""

    rank_spread: float
    step: float
    micro_batch: float
    kernel: float
    host: float
    end_us: float


class ClockFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far clocks of hosts usually differ, and when the window begins."""

    offset_ms: float
    drift_ppm: float
    epoch_s: int


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What faults should cost, and how hard to try."""

    clear: float
    mild: float
    tolerance: float
    most_runs: int


class SimulationFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    device: DeviceFacts
    host: HostFacts
    transports: dict[str, Transport]
    collectives: CollectiveFacts
    noise: dict[str, NoiseLevels]
    clocks: ClockFacts
    calibration: Calibration


def simulation_facts() -> SimulationFacts:
    """The facts about simulated training."""
    return load("simulation", SimulationFacts)
