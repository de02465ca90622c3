"""What can be recorded on this machine, and what the rest would need."""

from __future__ import annotations

from stepscope.doctor.check import Check, Recordable, Sentence


def recordable(checks: list[Check]) -> list[Recordable]:
    """Every way to record that the profiler knows."""
    fine = {check.name for check in checks if check.state == "ok"}

    def way(name: str, *needed: str) -> Recordable:
        missing = [each for each in needed if each not in fine]
        needs = Sentence.of(f"doctor_needs.{missing[0]}") if missing else None
        return Recordable(name=name, possible=not missing, needs=needs)

    return [
        way("plain"),
        way("torch_cpu", "torch"),
        way("torch_cuda", "torch", "gpu", "cuda", "driver"),
        way("gpu_counters", "gpu", "gpu_counters"),
        way("torch_npu", "npu", "cann", "torch", "torch_npu"),
        way("mindspore_cpu", "mindspore"),
        way("mindspore_npu", "npu", "cann", "mindspore"),
    ]
