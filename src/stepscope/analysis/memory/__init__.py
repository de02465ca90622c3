"""Where memory goes: curves, the peak and what lives there, categories, lives, fragmentation, failures, step by step.

Formulas: docs/metrics/memory.md.
"""

from __future__ import annotations

from stepscope.analysis.memory.question import memory
from stepscope.analysis.memory.structures import Memory

__all__ = ["Memory", "memory"]
