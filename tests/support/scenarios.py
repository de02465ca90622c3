"""Small scenarios for tests."""

from __future__ import annotations

from typing import Any

from stepscope.facts.simulation import Transport
from stepscope.simulate.scenario import Device, Host, Input, Network, Plan, Scenario, Stage, Workload

#: A pipeline of three stages that keeps up easily.
LOADER = Input(
    stages=(
        Stage(name="TFReader", kind="TFReader", us=300.0),
        Stage(name="Map", kind="Map", us=1_500.0, workers=4),
        Stage(name="Batch", kind="Batch", us=200.0),
    )
)
GPU = Device(name="NVIDIA H200", kind="gpu")
NPU = Device(name="Ascend910B3", kind="npu")
CPU = Device(name="CPU", kind="cpu")
_LINKS = {
    "gpu": Network(),
    "npu": Network(inside="HCCS", rates={"HCCS": Transport(200.0, 5.0)}),
    "cpu": Network(inside="TCP", between="TCP"),
}


def small(device: Device = GPU, **changes: Any) -> Scenario:
    """Two data-parallel ranks, four layers."""
    settings: dict[str, Any] = {
        "name": "small",
        "steps": 4,
        "plan": Plan(dp=2),
        "device": device,
        "network": _LINKS[device.kind],
        "workload": Workload(layers=4, hidden=1024, sequence=1024, batch=4, vocabulary=4096, buckets=2),
        "host": Host(ranks=4),
        "input": LOADER,
    }
    return Scenario(**(settings | changes))
