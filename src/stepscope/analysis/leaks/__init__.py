"""Which allocation sites keep memory from step to step, and which only seem to.

Rules and their reasons: docs/metrics/leaks.md.
"""

from __future__ import annotations

from stepscope.analysis.leaks.question import leaks
from stepscope.analysis.leaks.structures import Leaks

__all__ = ["Leaks", "leaks"]
