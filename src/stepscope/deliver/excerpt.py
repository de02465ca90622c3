"""A stretch of one rank as a run of its own: what happens in it, for an exporter to write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from stepscope.store.run_store import RunStore

#: Tables of slices by the column that names the slice; a link needs both of its ends.
_BY_SLICE: Final = {"details": ("slice",), "pmu": ("slice",), "links": ("from_slice", "to_slice")}


@dataclass(kw_only=True)
class ExcerptStore(RunStore):
    """Slices that touch the stretch with what belongs to them, and points in time within it; the rest as it is."""

    behind: RunStore
    first_ns: int  # start of the first slice, which may reach into the stretch
    start_ns: int
    end_ns: int

    def scan(self, table: str, ranks: list[int] | None = None) -> pl.LazyFrame:
        frame = self.behind.scan(table, ranks)
        if table == "slices":
            return frame.filter(self._touching())
        if table in _BY_SLICE:
            kept = self.behind.scan("slices", ranks).filter(self._touching()).select("rank", "slice")
            for column in _BY_SLICE[table]:
                frame = frame.join(kept, left_on=["rank", column], right_on=["rank", "slice"], how="semi")
            return frame
        if table == "counters":
            return frame.filter(pl.col("time_ns").is_between(self.start_ns, self.end_ns))
        if table == "ranks":
            return frame.with_columns(first_ns=pl.lit(self.first_ns, pl.Int64), last_ns=pl.lit(self.end_ns, pl.Int64))
        return frame

    def _touching(self) -> pl.Expr:
        return _touches(self.start_ns, self.end_ns)


def excerpt(store: RunStore, rank: int, start_ns: int, end_ns: int) -> RunStore:
    """What one rank does between two moments of its own clock."""
    first = store.scan("slices", [rank]).filter(_touches(start_ns, end_ns)).select(pl.col("start_ns").min()).collect()
    first_ns = start_ns if first.item() is None else first.item()
    return ExcerptStore(
        store.directory, store.manifest, behind=store, first_ns=first_ns, start_ns=start_ns, end_ns=end_ns
    )


def _touches(start_ns: int, end_ns: int) -> pl.Expr:
    return (pl.col("start_ns") < end_ns) & (pl.col("start_ns") + pl.col("dur_ns") > start_ns)
