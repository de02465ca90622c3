"""What all writers of documented files take: one rank of a run, its switches, and the wanted steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from stepscope.analysis.foundation.work import Work, work_of
from stepscope.analysis.operators.executed import host_work
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class RankData:
    """One rank as the writers see it. ``steps`` limits what is written."""

    store: RunStore
    rank: int
    steps: Sequence[int] | None = None

    def scan(self, table: str) -> pl.LazyFrame:
        """Rows of this rank, of the wanted steps where the table has any."""
        rows = self.store.scan(table, [self.rank])
        if self.steps and "step" in rows.collect_schema().names():
            rows = rows.filter(pl.col("step").is_in(list(self.steps)))
        return rows

    @cached_property
    def about(self) -> dict[str, Any]:
        """The rank's row of ``ranks``."""
        rows = self.store.scan("ranks", [self.rank]).collect().to_dicts()
        return rows[0] if rows else {}

    @cached_property
    def backend(self) -> str:
        return "mindspore" if self.about.get("framework") == "mindspore" else "torch"

    @cached_property
    def switches(self) -> dict[str, Any]:
        switches = json.loads(self.about.get("switches") or "{}")
        return switches if isinstance(switches, dict) else {}

    @cached_property
    def device(self) -> str:
        """The device as the documents name it: NPU:0, GPU:0, CPU."""
        kind = str(self.about.get("device_kind") or "cpu").upper()
        return kind if kind == "CPU" else f"{kind}:{self.about.get('device_index') or 0}"

    @cached_property
    def device_id(self) -> int:
        return int(self.about.get("device_index") or 0)

    @cached_property
    def work(self) -> Work:
        """What counts as kernels and communication here."""
        return work_of(self.store, self.rank)

    @cached_property
    def executed(self) -> pl.DataFrame:
        """Kernels and communication, one row each; without a device operators, each with the time of its own."""
        if not self.work.on_device:
            return host_work(self.store, self.rank, self.steps)
        lanes = pl.LazyFrame({"slice": pl.Series(self.work.slice).cast(pl.UInt32), "lane": self.work.lane})
        columns = ("slice", "start_ns", "dur_ns", "step", "name", "type", "core", "operator", "input_shapes", "dtypes")
        rows = self.scan("slices").join(lanes, on="slice", maintain_order="left")
        return rows.select(*columns, "lane", end_ns=pl.col("start_ns") + pl.col("dur_ns")).collect()

    def causes(self, kind: str) -> dict[int, int]:
        """What caused each slice, by links of one kind: the launching call, the operator."""
        rows = self.store.scan("links", [self.rank]).filter(pl.col("kind").cast(pl.String) == kind)
        return dict(rows.select("to_slice", "from_slice").collect().iter_rows())

    @cached_property
    def has_steps(self) -> bool:
        marks = self.store.scan("steps", [self.rank]).filter(pl.col("marks_from").cast(pl.String) != "window")
        return not marks.head(1).collect().is_empty()
