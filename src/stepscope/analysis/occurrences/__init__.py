"""What one row of ``operators`` consists of (docs/metrics/operators.md)."""

from stepscope.analysis.occurrences.question import Occurrences, occurrences

__all__ = ["Occurrences", "occurrences"]
