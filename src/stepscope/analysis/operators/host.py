"""Operators on the host: their own time, what they call, and what they launched on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from stepscope.analysis.operators.executed import LANES, chosen_steps
from stepscope.analysis.operators.groups import longest_first, statistics
from stepscope.analysis.operators.ownership import Ownership, ownership_of
from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore

_COLUMNS: Final = {
    "operator": ("name", "type", "core"),
    "shape": ("name", "type", "core", "input_shapes", "dtypes"),
    "module": ("name", "type", "core", "module"),
}
#: By grouping, what is equal in a group of calls; the first of it is its name.
CALLS_GROUPED_BY: Final = {"operator": ("name",), "shape": ("name", "input_shapes", "dtypes"), "module": ("module",)}


def calls(store: RunStore, rank: int, steps: Sequence[int] | None = None, *, by: str = "operator") -> pl.DataFrame:
    """Every call of an operator on the host, with self time and device times in nanoseconds; only what ``by`` needs."""
    owners = ownership_of(store, rank)
    scan = store.scan("slices", [rank])
    rows = scan.filter(pl.col("kind") == "operator").select("slice", "dur_ns", "step", *_COLUMNS[by]).collect()
    work = scan.filter(pl.col("kind").is_in(list(LANES))).select("slice", "dur_ns", "step").collect()
    work = chosen_steps(work, steps)
    positions = owners.nesting.positions(rows["slice"].to_numpy())
    own, total = owners.owned(owners.nesting.positions(work["slice"].to_numpy()), work["dur_ns"].to_numpy())
    rows = rows.with_columns(
        self_ns=pl.Series(owners.self_time(positions, rows["dur_ns"].to_numpy())),
        device_self_ns=pl.Series(own[positions]),
        device_total_ns=pl.Series(total[positions]),
    )
    if by != "module":
        return chosen_steps(rows, steps)
    return chosen_steps(_with_forward_modules(rows, positions, owners), steps)


def _with_forward_modules(rows: pl.DataFrame, positions: Int64s, owners: Ownership) -> pl.DataFrame:
    """Operators of a backward pass lie in no module; they belong to that of their forward operator."""
    if rows["module"].null_count() in (0, len(rows)):
        return rows
    forward = pl.Series(owners.forward_of(positions))
    modules = pl.DataFrame({"forward": positions, "forward_module": rows["module"]})
    rows = rows.with_columns(forward=forward).join(modules, on="forward", how="left", maintain_order="left")
    return rows.with_columns(module=pl.coalesce("module", "forward_module")).drop("forward", "forward_module")


def grouped_calls(rows: pl.DataFrame, by: str, *, on_device: bool) -> pl.DataFrame:
    """Calls put together by operator, shape or module, the most self time first.

    Operators of one module call each other, so there the time of a call is its self time.
    """
    keys = list(CALLS_GROUPED_BY[by])
    duration = pl.col("self_ns" if by == "module" else "dur_ns")
    sums = [pl.col("self_ns").sum()]
    if on_device:
        device_total = "device_self_ns" if by == "module" else "device_total_ns"
        sums += [pl.col("device_self_ns").sum(), pl.col(device_total).sum().alias("device_total_ns")]
    grouped = rows.group_by(keys).agg(
        *statistics(duration),
        *sums,
        *(pl.col(name).drop_nulls().first() for name in ("type", "core") if name not in keys),
        steps=pl.col("step").n_unique() - pl.col("step").has_nulls(),
    )
    name = pl.col("module" if by == "module" else "name")
    named = grouped.with_columns(name=name, **({} if by == "module" else {"operator": name}))
    return longest_first(named, "self_ns", keys)
