"""Operators and kernels: how often, how long, launched by whom (docs/metrics/operators.md)."""

from stepscope.analysis.operators.question import Operator, operators

__all__ = ["Operator", "operators"]
