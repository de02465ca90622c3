"""Categories of Kineto activities."""

from __future__ import annotations

from typing import Final

from stepscope.facts.kineto import kineto_facts
from stepscope.readers.slices.flows import OWN_CATEGORY
from stepscope.store.schema import SLICE_KINDS

#: Categories whose events lie on a device's streams.
ON_DEVICE: Final = frozenset(
    [
        "kernel",
        "gpu_memcpy",
        "gpu_memset",
        "memcpy",
        "memset",
        "cuda_sync",
        "xpu_sync",
        "cuda_event",
        "gpu_user_annotation",
        "mtia_ccp_events",
        "collective_comm",
        "cuda_profiler_range",
    ]
)


def kind_of_category(category: str | None) -> str | None:
    """Slice kind of a category, None if it is unknown.

    >>> kind_of_category("Memcpy"), kind_of_category("stepscope:reported"), kind_of_category("zebra")
    ('copy', 'reported', None)
    """
    word = (category or "").lower()
    if word.startswith(OWN_CATEGORY):  # our own export
        kind = word.removeprefix(OWN_CATEGORY)
        return kind if kind in SLICE_KINDS else None
    return kineto_facts().kinds.get(word)
