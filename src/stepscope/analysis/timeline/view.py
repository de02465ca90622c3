"""A run as the timeline sees it: its clock, and the columns of its ranks, read when first asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final, Protocol, TypeVar

from stepscope.analysis.foundation.byte_cache import ByteCache
from stepscope.analysis.foundation.work import ranks_of
from stepscope.analysis.timeline.clock import RunClock, run_clock
from stepscope.analysis.timeline.columns import RankColumns, rank_columns
from stepscope.analysis.timeline.counters import CounterColumns, counter_columns
from stepscope.analysis.timeline.lanes import Lanes, rank_lanes
from stepscope.analysis.timeline.links import LinkColumns, link_columns
from stepscope.analysis.timeline.parents import ParentColumns, parent_columns
from stepscope.store.run_store import RunStore

#: Columns of all runs together: about 50 million slices.
MOST_COLUMN_BYTES: Final = 1536 << 20


class _Sized(Protocol):
    @property
    def bytes(self) -> int: ...


Columns = TypeVar("Columns", bound=_Sized)


class TimelineView:
    """Pure questions about the timeline take this. Runs that share a cache release each other's columns."""

    def __init__(self, store: RunStore, cache: ByteCache | None = None) -> None:
        self.store = store
        self.version = store_version(store)
        self._cache = ByteCache(MOST_COLUMN_BYTES) if cache is None else cache

    @cached_property
    def clock(self) -> RunClock:
        return run_clock(self.store)

    def ranks(self, wanted: Sequence[int] | None) -> list[int]:
        """The ranks asked for, which must exist; without a wish the first, because a run may have thousands."""
        return ranks_of(self.store, wanted) if wanted else ranks_of(self.store, None)[:1]

    def columns(self, rank: int) -> RankColumns:
        return self._kept("slices", rank, lambda: rank_columns(self.store, rank, self.clock))

    def parents(self, rank: int) -> ParentColumns:
        return self._kept("parents", rank, lambda: parent_columns(self.store, self.columns(rank)))

    def counters(self, rank: int) -> CounterColumns:
        return self._kept("counters", rank, lambda: counter_columns(self.store, rank, self.clock))

    def links(self, rank: int) -> LinkColumns:
        return self._kept("links", rank, lambda: link_columns(self.store, self.columns(rank)))

    def lanes(self, rank: int) -> Lanes:
        return self._kept("lanes", rank, lambda: rank_lanes(self.store, rank, self.clock))

    def _kept(self, what: str, rank: int, make: Callable[[], Columns]) -> Columns:
        ranks_of(self.store, [rank])
        columns: Columns = self._cache.get((self.version, what, rank), make, lambda value: int(value.bytes))
        return columns


def store_version(store: RunStore) -> str:
    """Changes whenever the stored run does; names of merged files are new with each ingest."""
    text = "\n".join(f"{name} {size}" for name, size in sorted(store.manifest.sizes.items()))
    return hashlib.sha256(f"{store.directory}\n{text}".encode()).hexdigest()[:16]
