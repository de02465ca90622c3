"""The slices behind one row of ``operators``, put together by the same rules as the row itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from stepscope.analysis.operators.executed import device_work, host_work
from stepscope.analysis.operators.groups import KEYS, NAMED_BY, described
from stepscope.analysis.operators.host import CALLS_GROUPED_BY, calls
from stepscope.store.run_store import RunStore

_TEXTS: Final = ("name", "type", "core", "category", "operator", "module", "input_shapes", "dtypes")


@dataclass(frozen=True)
class Group:
    """Which row: its name, and what else tells it from others of that name. An empty text stands for none."""

    by: str
    lane: str
    name: str
    others: dict[str, str]


def rows_of_group(
    store: RunStore, rank: int, group: Group, side: str | None, steps: Sequence[int] | None
) -> tuple[pl.DataFrame, str]:
    """The slices with the time that each counts with (``dur_ns``), and their side: the device's where it has any."""
    if side != "host":
        rows = _kept(device_work(store, rank, steps, detailed=True), group, KEYS[group.by])
        if len(rows) or side == "device":
            return rows, "device"
    if group.by in CALLS_GROUPED_BY:
        return _calls(store, rank, group, steps), "host"
    return _kept(host_work(store, rank, steps), group, KEYS[group.by]), "host"


def _kept(rows: pl.DataFrame, group: Group, keys: Sequence[str]) -> pl.DataFrame:
    rows = described(rows if group.lane == "all" else rows.filter(pl.col("lane") == group.lane))
    return _within(rows, group, keys, NAMED_BY.get(group.by, group.by))


def _calls(store: RunStore, rank: int, group: Group, steps: Sequence[int] | None) -> pl.DataFrame:
    """Calls of the host; operators of one module call each other, so there each counts with its own time."""
    keys = CALLS_GROUPED_BY[group.by]
    rows = calls(store, rank, steps, by=group.by)
    if group.by == "module":
        rows = rows.with_columns(dur_ns="self_ns")
    rows = _within(rows, group, keys, keys[0])
    more = [name for name in ("start_ns", "input_shapes", "dtypes", "module") if name not in rows.columns]
    known = store.scan("slices", [rank]).filter(pl.col("slice").is_in(rows["slice"].implode())).select("slice", *more)
    rows = rows.join(known.collect(), on="slice", how="left", maintain_order="left")
    return rows.with_columns(operator=pl.col("name"))


def _within(rows: pl.DataFrame, group: Group, keys: Sequence[str], named: str) -> pl.DataFrame:
    rows = rows.with_columns(pl.col(name).cast(pl.String) for name in _TEXTS if name in rows.columns)
    wanted = {named: group.name, **{key: value for key, value in group.others.items() if key in keys}}
    for column, value in wanted.items():
        rows = rows.filter(pl.col(column) == value if value else pl.col(column).is_null())
    return rows
