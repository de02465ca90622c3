"""What a slice of the host is about, by its kind and name."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from stepscope.arrays import NONE
from stepscope.facts.host_activity import host_activity_facts

#: Categories, the one that wins first; the last stands for Python code and for what was not recorded.
CATEGORIES: Final = (*(entry.name for entry in host_activity_facts().category), "other")
OTHER: Final = len(CATEGORIES) - 1

# Marks of the profiler and of steps lie around everything and tell nothing.
_WRAPPER: Final = re.compile(r"^(?:PyTorch Profiler \(\d+\)|ProfilerStep)")


@cache
def _patterns() -> list[tuple[frozenset[str], frozenset[str], re.Pattern[str] | None]]:
    patterns = []
    for entry in host_activity_facts().category:
        words = "|".join(f"(?:{pattern})" for pattern in entry.patterns)
        patterns.append((frozenset(entry.kinds), frozenset(entry.among), re.compile(words) if words else None))
    return patterns


def category_of(kind: str, name: str) -> int:
    """Number of the category of a slice; NONE for marks of steps and wrappers of the profiler, which tell nothing.

    >>> CATEGORIES[category_of("runtime", "cudaStreamSynchronize")], CATEGORIES[category_of("python", "a.py(3): main")]
    ('sync', 'other')
    """
    if kind == "step" or _WRAPPER.search(name):
        return NONE
    for number, (kinds, among, pattern) in enumerate(_patterns()):
        if kind in kinds or (pattern is not None and (not among or kind in among) and pattern.search(name)):
            return number
    return OTHER
