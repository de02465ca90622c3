"""Peaks of devices: ``devices.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Device(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Devices whose product name fits; ``tflops`` by element type."""

    pattern: str
    tflops: dict[str, float] = msgspec.field(default_factory=dict)
    memory_gb_per_s: float | None = None
    host_gb_per_s: float | None = None
    cores: int | None = None


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counters that tell how fast cores worked."""

    cycles: str
    utilization: str
    frequency_track: str


class Cube(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Matrix units of an NPU."""

    flops_per_cycle: dict[str, int]
    measured: Measured


class DevicesFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    device: tuple[Device, ...]
    cube: Cube


def devices_facts() -> DevicesFacts:
    """Peaks of devices."""
    return load("devices", DevicesFacts)
