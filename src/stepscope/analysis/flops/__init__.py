"""Floating-point operations: how many, how fast, and how near to what the device can do (docs/metrics/flops.md)."""

from stepscope.analysis.flops.question import Flops, flops

__all__ = ["Flops", "flops"]
