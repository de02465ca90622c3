"""What a rank's capture cannot tell, as its reader stated it in ``ranks``."""

from __future__ import annotations

from typing import Any

from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.store.run_store import RunStore


@cached_summary_per_rank
def compute_is_hidden(store: RunStore, rank: int) -> bool:
    """Whether the timeline does not show what the device computed: the files have it in tables only."""
    return _stated(store, rank, "compute_recorded") is False


@cached_summary_per_rank
def allocations_are_overwritten(store: RunStore, rank: int) -> bool:
    """Whether only the latest allocations and frees were kept."""
    return _stated(store, rank, "allocations_overwritten") is True


@cached_summary_per_rank
def host_memory_is_relative(store: RunStore, rank: int) -> bool:
    """Whether the host's memory is counted from the start of the window."""
    return _stated(store, rank, "host_memory_relative") is True


def _stated(store: RunStore, rank: int, column: str) -> Any:
    values = store.scan("ranks", [rank]).select(column).collect()[column]
    return values[0] if len(values) else None
