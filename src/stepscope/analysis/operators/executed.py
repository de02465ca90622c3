"""What was executed, one row per slice: work on the device, and on the host operators that do the work themselves.

``dur_ns`` is what a slice counts with, and ``end_ns`` where it ends: operators of the host may count with less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.work import (
    COMMUNICATION,
    COMPUTE,
    COPY,
    LANE,
    device_tracks,
    does_work_on_device,
    host_calls,
)
from stepscope.analysis.operators.nesting import NOWHERE
from stepscope.analysis.operators.ownership import Ownership, ownership_of
from stepscope.store.run_store import RunStore

LANES: Final = {"kernel": COMPUTE, "collective": COMMUNICATION, "copy": COPY}
HOST_CORE: Final = "HOST_CPU"
_BASE: Final = ["slice", "start_ns", "dur_ns", "step", "name", "type", "core", "operator"]
_COLUMNS: Final = [*_BASE, "module", "input_shapes", "dtypes"]


def device_work(
    store: RunStore, rank: int, steps: Sequence[int] | None = None, *, detailed: bool = False
) -> pl.DataFrame:
    """Kernels, collectives and copies of a device; if ``detailed``, with shapes and modules of the owning operators."""
    scan = store.scan("slices", [rank]).filter(pl.col("kind").is_in(list(LANES)))
    lane = pl.col("kind").replace_strict(LANES, return_dtype=LANE)
    end = pl.col("start_ns") + pl.col("dur_ns")
    rows = scan.select(*(_COLUMNS if detailed else _BASE), "track", lane=lane, end_ns=end).collect()
    if (rows["lane"] == COMMUNICATION).any():
        # Collectives of gloo or MPI run on the host and are no work of a device.
        there = pl.col("track").is_in(device_tracks(store, rank))
        rows = rows.filter((pl.col("lane") != COMMUNICATION) | there)
    rows = chosen_steps(rows.drop("track"), steps)
    if detailed and len(rows):
        rows = _with_facts_of_owners(store, rows, ownership_of(store, rank), rank)
    return rows


def host_work(store: RunStore, rank: int, steps: Sequence[int] | None = None) -> pl.DataFrame:
    """Operators and collectives on the host, as ``device_work`` shows kernels.

    Without a device every operator with time of its own is there, and counts with that: heavy ones such as aten::mm
    hold light ones, and are no leaves. Beside a device operators mostly launch; the leaves among them are there.
    """
    slices = store.scan("slices", [rank]).select(*_COLUMNS, "parent", "kind", "track")
    rows = host_calls(slices).filter(~pl.col("track").is_in(device_tracks(store, rank)).fill_null(False))
    rows = rows.with_columns(end_ns=pl.col("start_ns") + pl.col("dur_ns"))
    if does_work_on_device(store, rank):
        rows = rows.filter("leaf")
    else:
        rows = rows.filter(pl.col("leaf") | (pl.col("own_ns") > 0)).with_columns(dur_ns="own_ns")
    rows = rows.with_columns(
        type=pl.coalesce("type", "name"),
        core=pl.coalesce("core", pl.lit(HOST_CORE, rows.schema["core"])),
        operator=pl.coalesce("operator", "name"),
        lane=pl.when(pl.col("kind") == "operator").then(pl.lit(COMPUTE, LANE)).otherwise(pl.lit(COMMUNICATION, LANE)),
    )
    return chosen_steps(rows.select(*_COLUMNS, "lane", "end_ns"), steps)


def chosen_steps(rows: pl.DataFrame, steps: Sequence[int] | None) -> pl.DataFrame:
    """Rows of these steps, or all."""
    return rows.filter(pl.col("step").is_in(list(steps))) if steps else rows


def _with_facts_of_owners(store: RunStore, rows: pl.DataFrame, owners: Ownership, rank: int) -> pl.DataFrame:
    """Kernels of a GPU carry no shapes, and those of a backward pass no module: their operators do."""
    operator = owners.owner[owners.nesting.positions(rows["slice"].to_numpy())]
    forward = owners.forward_of(operator)
    known = store.scan("slices", [rank]).filter(pl.col("kind") == "operator")
    wanted = known.select(
        position=pl.col("slice"), owner_shapes="input_shapes", owner_dtypes="dtypes", owner_module="module"
    ).collect()
    wanted = wanted.with_columns(position=pl.Series(owners.nesting.positions(wanted["position"].to_numpy())))
    rows = rows.with_columns(owner=pl.Series(operator), forward=pl.Series(forward)).with_columns(
        pl.when(pl.col(name) != NOWHERE).then(pl.col(name)).alias(name) for name in ("owner", "forward")
    )
    rows = rows.join(wanted, left_on="owner", right_on="position", how="left", maintain_order="left")
    rows = rows.join(
        wanted.select("position", forward_module="owner_module"),
        left_on="forward",
        right_on="position",
        how="left",
        maintain_order="left",
    )
    fills = {
        "module": ("module", "owner_module", "forward_module"),
        "input_shapes": ("input_shapes", "owner_shapes"),
        "dtypes": ("dtypes", "owner_dtypes"),
    }
    return rows.select(
        pl.coalesce(*fills[column]).alias(column) if column in fills else pl.col(column)
        for column in (*_COLUMNS, "lane", "end_ns")
    )


def busy_ns(rows: pl.DataFrame) -> int:
    """How long at least one of the slices ran."""
    return union(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()).length
