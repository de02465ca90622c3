"""How long a kernel takes: arithmetic over the device's rate, or bytes over the memory's, whichever is longer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from stepscope.facts.devices import devices_facts
from stepscope.facts.simulation import simulation_facts
from stepscope.simulate.scenario import Device

_MATRIX = ("matmul", "expert")


def has_rates(device: Device) -> bool:
    """Whether it is known how fast it is: by its own rates, by its name, or as one that stands for its kind."""
    stated = device.tflops is not None and device.memory_gb_per_s is not None
    return stated or device.kind != "gpu" or _published(device.name) is not None


def _published(name: str) -> tuple[dict[str, float], float | None] | None:
    for entry in devices_facts().device:
        if re.search(entry.pattern, name):
            return entry.tflops, entry.memory_gb_per_s
    return None


@dataclass(frozen=True)
class Rates:
    """The rates of a device."""

    device: Device

    @cached_property
    def memory_gb_per_s(self) -> float:
        usual = simulation_facts().device
        known = {"npu": usual.npu_memory_gb_per_s, "cpu": usual.cpu_memory_gb_per_s}
        published = self._published
        return float(
            self.device.memory_gb_per_s or known.get(self.device.kind) or (published and published[1]) or 1000.0
        )

    def tflops(self, dtype: str) -> float:
        """The published rate of matrix products of a type."""
        if self.device.tflops is not None:
            return self.device.tflops
        usual = simulation_facts().device
        rates = {"npu": usual.npu_tflops, "cpu": usual.cpu_tflops}.get(self.device.kind) or (
            self._published[0] if self._published else {}
        )
        return float(rates.get(dtype) or rates.get("fp32") or 100.0)

    @cached_property
    def _published(self) -> tuple[dict[str, float], float | None] | None:
        return _published(self.device.name)

    def kernel_ns(self, operator: str, flops: float, moved_bytes: float, dtype: str) -> float:
        """Nanoseconds of a kernel of some arithmetic and traffic.

        >>> Rates(Device(tflops=100.0, memory_gb_per_s=1000.0, efficiency=1.0, least_kernel_us=0.0)).kernel_ns(
        ...     "matmul", flops=1e9, moved_bytes=1e6, dtype="bf16"
        ... )
        10000.0
        """
        usual = simulation_facts().device
        share = usual.matrix_efficiency if operator in _MATRIX else usual.attention_efficiency
        stated = self.device.efficiency
        arithmetic = flops / (self.tflops(dtype) * (stated or share) * 1000)
        traffic = moved_bytes / (self.memory_gb_per_s * (stated or usual.memory_efficiency))
        least = self.device.least_kernel_us
        return max(arithmetic, traffic) + (usual.least_kernel_us if least is None else least) * 1000
