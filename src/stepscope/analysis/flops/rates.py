"""Calls put together: FLOPs, time on the device, rate, and the place under the roofline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.flops.counting import Counted
from stepscope.analysis.flops.kernel_units import with_units
from stepscope.analysis.flops.peaks import Peaks
from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.analysis.foundation.units import (
    Bytes,
    Count,
    FlopCount,
    FlopsPerByte,
    FlopsPerSecond,
    Identifier,
    Microseconds,
    Share,
)
from stepscope.analysis.operators.nesting import NOWHERE
from stepscope.arrays import Int64s
from stepscope.facts.flops import flops_facts
from stepscope.store.run_store import RunStore

_KEYS: Final = {
    "operator": ["name", "kind", "dtype", "source"],
    "shape": ["name", "kind", "input_shapes", "dtype", "source"],
}
_MOSTLY: Final = 0.5


class OperatorFlops(msgspec.Struct, frozen=True):
    """One operator (or kernel type) of one rank in one element type; null is what capture or table cannot tell."""

    rank: Identifier
    name: str
    kind: str
    dtype: str | None
    input_shapes: str | None
    source: str
    count: Count
    flops: FlopCount
    device_us: Microseconds | None
    flops_per_s: FlopsPerSecond | None
    peak_flops_per_s: FlopsPerSecond | None
    peak_share: Share | None
    bytes: Bytes | None
    intensity: FlopsPerByte | None
    bound: str | None
    attainable_flops_per_s: FlopsPerSecond | None
    attainable_share: Share | None
    tensor_core_share: Share | None


@dataclass(frozen=True)
class Work:
    """What ran: on the device, or on the host where the run has no device."""

    # slice, start_ns, dur_ns, device, call (position or NOWHERE), on_tensor_cores (null if unknown), short, split, full
    slices: pl.DataFrame
    on_device: bool
    device_kind: str | None
    devices: int  # that ran kernels; one process may use several
    linked: bool  # whether any kernel is known to work for an operator
    unknown_share: float  # of the kernels' time for which no operator is known

    def without_host_calls(self, calls: pl.DataFrame) -> pl.DataFrame:
        """Calls that ran on the device; all, where there is none or where nothing tells what each kernel works for."""
        if not (self.on_device and self.linked):
            return calls
        return calls.filter(pl.col("position").is_in(self.slices["call"].unique().implode()))


def work_of_calls(store: RunStore, rank: int, counted: Counted) -> Work:
    """Kernels with the call that each works for; without a device, the calls themselves."""
    scan = slices_of(store, rank)
    columns = ("slice", "start_ns", "dur_ns", "name", "track", "step")
    kernels = scan.filter(pl.col("kind") == "kernel").select(columns).collect()
    on_device = len(kernels) > 0
    ranks = (
        store.scan("ranks", [rank])
        .filter(pl.col("rank") == rank)
        .select(pl.col("device_kind").cast(pl.String))
        .collect()
    )
    device_kind = ranks.item(0, 0) if len(ranks) else None
    devices = 1
    if on_device:
        kernels, devices = _with_devices(store, rank, with_units(store, rank, kernels, device_kind))
    else:
        rows = scan.filter(pl.col("kind") == "operator").select("slice", "start_ns", "dur_ns").collect()
        unknown = pl.lit(None, pl.Boolean)
        no = pl.lit(False)
        kernels = rows.with_columns(device=pl.lit(0), on_tensor_cores=unknown, short=no, split=no, full=no)
    call = pl.Series(counted.call_of(kernels["slice"].to_numpy()))
    kernels = kernels.with_columns(call=call)
    positions = counted.owners.nesting.positions(kernels["slice"].to_numpy())
    if not on_device:
        kernels = kernels.filter(pl.col("call") == pl.Series(positions))
        return Work(kernels, on_device, device_kind, devices, linked=False, unknown_share=0.0)
    linked = counted.owners.owner[positions] != NOWHERE
    named = store.scan("slices", [rank]).filter((pl.col("kind") == "kernel") & pl.col("operator").is_not_null())
    known = linked | kernels["slice"].is_in(named.select("slice").collect()["slice"].implode()).to_numpy()
    in_steps = kernels["dur_ns"].to_numpy() * kernels["step"].is_not_null().to_numpy()
    unknown_share = float(in_steps[~known].sum() / in_steps.sum()) if in_steps.any() else 0.0
    return Work(kernels.drop("step"), on_device, device_kind, devices, bool(linked.any()), unknown_share)


def _with_devices(store: RunStore, rank: int, kernels: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Which device ran each kernel, as a number: its streams are the tracks of one process."""
    tracks = store.scan("tracks", [rank]).filter(pl.col("track").is_in(kernels["track"].unique().implode()))
    device = tracks.select("track", device=pl.col("process").rank("dense")).collect()
    count = device["device"].drop_nulls().n_unique()
    if count <= 1:
        return kernels.drop("track").with_columns(device=pl.lit(0)), 1
    return kernels.join(device, on="track", how="left").drop("track"), count


def with_computing_types(calls: pl.DataFrame, work: Work) -> pl.DataFrame:
    """32-bit calls that ran on matrix units in a shorter form, TF32, 3xTF32 or HF32, have that element type."""
    duration = pl.col("dur_ns")
    table = flops_facts()
    joined = work.slices.filter(pl.col("call") != NOWHERE).join(
        calls.filter(pl.col("dtype") == "fp32").select("name", "input_shapes", call="position"), on="call"
    )
    shortens = pl.col("on_tensor_cores") & ~pl.col("full")
    on_cores = duration.filter(shortens).sum() > duration.sum() * _MOSTLY
    groups = joined.group_by("name", "input_shapes").agg(
        short=duration.filter("short").sum() > duration.sum() * _MOSTLY,
        split=duration.filter("split").sum() > duration.sum() * _MOSTLY,
        cores=on_cores,
    )
    calls = calls.join(groups, on=["name", "input_shapes"], how="left", nulls_equal=True)
    hf32, split = pl.lit(table.short_float32.dtype), pl.lit(table.split_float32.dtype)
    cores = pl.col("cores") & pl.lit(work.device_kind == "gpu")
    shorter = pl.when(pl.col("short")).then(hf32).when(pl.col("split")).then(split).when(cores).then(pl.lit("tf32"))
    dtype = pl.when(pl.col("dtype") == "fp32").then(pl.coalesce(shorter, "dtype")).otherwise("dtype")
    return calls.with_columns(dtype=dtype).drop("short", "split", "cores")


def operators_of(rank: int, calls: pl.DataFrame, work: Work, peaks: Peaks, by: str) -> list[OperatorFlops]:
    """Groups of calls, those with the most FLOPs first."""
    keys = _KEYS[by]
    groups = calls.group_by(keys).agg(
        count=pl.len(),
        flops=pl.col("flops").cast(pl.Int128).sum(),
        bytes=pl.when(pl.col("bytes").null_count() == 0).then(pl.col("bytes").cast(pl.Int128).sum()),
        positions="position",
    )
    ties = [name for name in keys if name not in ("name", "dtype")]
    order = ["flops", "name", "dtype", *ties]
    groups = groups.sort(order, descending=[True, *[False] * (len(order) - 1)], nulls_last=True)
    return list(_rows(rank, groups, work, peaks))


def _rows(rank: int, groups: pl.DataFrame, work: Work, peaks: Peaks) -> Iterator[OperatorFlops]:
    number = pl.DataFrame({"call": groups["positions"], "group": np.arange(len(groups))}).explode("call")
    slices = work.slices.join(number, on="call").sort("group")
    bounds = np.searchsorted(slices["group"].to_numpy(), np.arange(len(groups) + 1))
    for index, row in enumerate(groups.drop("positions").iter_rows(named=True)):
        mine = slices[int(bounds[index]) : int(bounds[index + 1])]
        time = busy(mine, work.devices) / 1e9
        rate = row["flops"] / time if time else None
        peak = peaks.rate(row["dtype"])
        intensity = row["flops"] / row["bytes"] if row["bytes"] else None
        attainable = min(peak, intensity * peaks.memory) if peak and peaks.memory and intensity is not None else None
        yield OperatorFlops(
            rank,
            row["name"],
            row["kind"],
            row["dtype"],
            row.get("input_shapes"),
            row["source"],
            row["count"],
            row["flops"],
            time * 1e6 if len(mine) else None,
            rate,
            peak,
            rate / peak if rate is not None and peak else None,
            row["bytes"],
            intensity,
            None if attainable is None else "compute" if attainable == peak else "memory",
            attainable,
            rate / attainable if rate is not None and attainable else None,
            tensor_core_share(mine),
        )


def busy(slices: pl.DataFrame, devices: int = 1) -> int:
    """Nanoseconds in which at least one slice ran, summed over the devices."""
    if devices > 1:
        return sum(busy(part) for part in slices.partition_by("device"))
    start: Int64s = slices["start_ns"].to_numpy()
    return union(start, np.asarray(start + slices["dur_ns"].to_numpy(), np.int64)).length


def tensor_core_share(slices: pl.DataFrame) -> float | None:
    """Share of the kernels' time on tensor cores or matrix units, of those of which it is known."""
    known = slices.filter(pl.col("on_tensor_cores").is_not_null())
    total = int(known["dur_ns"].sum())
    return int(known.filter("on_tensor_cores")["dur_ns"].sum()) / total if total else None
