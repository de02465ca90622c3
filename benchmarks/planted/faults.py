"""All planted faults: the program that has it, what a diagnosis should call it, and how it is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planted import device_faults, host_faults
from planted.model import Training


@dataclass(frozen=True)
class Fault:
    """A program ``(device, faulty)``; the kinds of findings that name its fault, any of which is right.

    ``gains_time`` is false where removing the fault makes no step shorter.
    """

    program: Callable[[str, bool], Training]
    kinds: tuple[str, ...]
    devices: tuple[str, ...] = ("cuda", "cpu")
    gains_time: bool = True
    measured_steps: int = 40
    recorded_steps: int = 5
    switches: dict[str, Any] = field(default_factory=dict)


#: What the profiler records unless a fault needs something else.
SWITCHES = {"record_shapes": True}

FAULTS = {
    "slow_loader": Fault(host_faults.SlowLoader, ("data_starved",), recorded_steps=6),
    "pageable_copies": Fault(host_faults.PageableCopies, ("data_starved",), devices=("cuda",)),
    "tiny_kernels": Fault(host_faults.TinyKernels, ("host_bound",), recorded_steps=4),
    "synchronisations": Fault(host_faults.Synchronisations, ("sync_stall",), devices=("cuda",)),
    "garbage_collection": Fault(host_faults.GarbageCollection, ("gc_pause",)),
    "checkpoint": Fault(host_faults.CheckpointEveryStep, ("tail_long", "host_bound")),
    "jitter": Fault(host_faults.Jitter, ("step_jitter",), recorded_steps=12),
    "recompilation": Fault(host_faults.Recompilation, ("operator_compile",), measured_steps=30, recorded_steps=4),
    "single_precision": Fault(device_faults.SinglePrecision, ("precision_headroom",), devices=("cuda",)),
    "transposes": Fault(device_faults.Transposes, ("layout_conversion",)),
    "channels_first": Fault(device_faults.ChannelsFirst, ("layout_conversion",), devices=("cuda",)),
    "work_on_the_cpu": Fault(device_faults.WorkOnTheCpu, ("cpu_fallback",), devices=("cuda",)),
    "unfused": Fault(device_faults.Unfused, ("kernel_fusion",)),
    "attention_in_pieces": Fault(device_faults.AttentionInPieces, ("kernel_fusion",), devices=("cuda",)),
    "metrics_in_python": Fault(
        host_faults.MetricsInPython, ("host_bound",), devices=("cuda",), recorded_steps=4, switches={"with_stack": True}
    ),
    "slow_optimizer": Fault(device_faults.SlowOptimizer, ("kernel_fusion", "host_bound"), recorded_steps=3),
    "memory_leak": Fault(
        device_faults.MemoryLeak,
        ("memory_leak",),
        gains_time=False,
        recorded_steps=14,
        switches={"profile_memory": True, "record_shapes": False},
    ),
    "empty_cache": Fault(device_faults.EmptyCache, ("host_bound", "sync_stall"), devices=("cuda",)),
}
