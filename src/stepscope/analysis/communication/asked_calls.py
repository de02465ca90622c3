"""The calls that a question is about: chosen ranks and steps, one group, one operation."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from stepscope.analysis.cluster.calls.matched import matched_calls, numbered_calls, with_waits
from stepscope.analysis.cluster.calls.paired import paired_calls
from stepscope.analysis.cluster.calls.recorded import recorded_calls
from stepscope.analysis.cluster.waiting.waits import Waits, waits
from stepscope.analysis.communication.call_times import operation_name, timed_calls
from stepscope.analysis.foundation.work import ranks_of
from stepscope.store.run_store import RunStore


class AskedCalls:
    """Calls are matched across all ranks whatever is asked, so a few cost as much as all."""

    def __init__(
        self,
        store: RunStore,
        ranks: Sequence[int] | None,
        steps: Sequence[int] | None,
        group: str | None,
        operation: str | None,
    ) -> None:
        self.store = store
        chosen = pl.col("rank").is_in(ranks_of(store, ranks))
        if steps:
            chosen &= pl.col("step").is_in(list(steps))
        if group is not None:
            chosen &= pl.col("group").cast(pl.String) == group
        named = pl.lit(True) if operation is None else pl.col("name") == operation
        self._chosen, self._operation, self._steps = chosen, operation, steps
        names = pl.col("group", "kind").cast(pl.String)
        self.recorded = (
            recorded_calls(store)
            .filter(chosen)
            .with_columns(names)
            .with_columns(name=operation_name(pl.col("name")).fill_null(pl.col("kind")).fill_null(""))
            .filter(named)
            .collect()
        )

    @property
    def transfers(self) -> pl.LazyFrame:
        """What moved in these calls."""
        rows = self.store.scan("transfers").filter(self._chosen)
        if self._operation is not None:
            rows = rows.filter(operation_name(pl.col("call")) == self._operation)
        return rows

    def timed(self, *, beside_computing: bool = True) -> tuple[pl.DataFrame, Waits]:
        """The calls with their times and skew, and the waits of all ranks that these come from."""
        matched, paired = self._matched(), paired_calls(self.store)
        waited = waits(self.store, matched, paired)
        timed = timed_calls(self.store, self.recorded, waited, beside_computing=beside_computing)
        calls = timed.join(_skews(matched, paired), on=["rank", "slice"], how="left", maintain_order="left")
        return calls, waited

    def _matched(self) -> pl.DataFrame:
        """Calls of the run; of the steps asked for alone where all calls know theirs: those of one call share it."""
        if not self._steps:
            return matched_calls(self.store)
        calls = numbered_calls(self.store)
        if not calls["step"].null_count():
            calls = calls.filter(pl.col("step").is_in(list(self._steps)))
        return with_waits(self.store, calls.filter(pl.col("rank").n_unique().over("call") > 1))


def _skews(matched: pl.DataFrame, paired: pl.DataFrame) -> pl.DataFrame:
    """``call`` of each rank and slice, and how far apart its first and last member came: the longest wait in it."""
    # Both count from 1; the numbers of pairs are made negative to tell them apart.
    both = [
        matched.select("rank", "slice", "wait_ns", "call"),
        paired.select("rank", "slice", "wait_ns", -pl.col("call")),
    ]
    calls = pl.concat(both, how="vertical_relaxed")
    return calls.select("rank", "slice", "call", skew_ns=pl.max("wait_ns").over("call"))
