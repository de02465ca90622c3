"""What a device can do at most: by table, by its own counters, or as the user says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import polars as pl

from stepscope.facts.devices import Device, Measured, devices_facts
from stepscope.facts.flops import flops_facts
from stepscope.store.run_store import RunStore

_TERA = 1e12
_GIGA = 1e9


@dataclass(frozen=True)
class Peaks:
    """FLOPs per second by element type; bytes per second of memory and to the host's; where they are known from.

    ``units`` are the rates of what computes an element type where that takes several products for one: TF32 for 3xTF32.
    """

    device: str | None
    rates: dict[str, float] = field(default_factory=dict)
    memory: float | None = None
    origin: str | None = None
    given: float | None = None
    units: dict[str, float] = field(default_factory=dict)
    host: float | None = None

    def rate(self, dtype: str | None) -> float | None:
        """The peak for an element type."""
        return self.given if self.given is not None else self.rates.get(dtype or "")

    def unit_rate(self, dtype: str | None) -> float | None:
        """The peak of the unit that computes this element type, were each product computed once."""
        return self.given if self.given is not None else self.units.get(dtype or "", self.rate(dtype))


def peaks_of(store: RunStore, rank: int, tflops: float | None = None, memory_gb_per_s: float | None = None) -> Peaks:
    """The peaks of a rank's device; what the user gives goes before what the table says."""
    row = store.scan("ranks", [rank]).filter(pl.col("rank") == rank).select("device_name", "device_kind").collect()
    device, kind = row.row(0) if len(row) else (None, None)
    entry = _entry(device)
    rates = {dtype: float(value) * _TERA for dtype, value in entry.tflops.items()}
    origin = "table" if rates else None
    if not rates and kind == "npu":
        rates, origin = _of_cubes(store, rank, entry)
    units = {}
    split = flops_facts().split_float32
    if split.unit in rates:
        units[split.dtype] = rates[split.unit]
        rates[split.dtype] = rates[split.unit] / split.products
    memory = memory_gb_per_s or entry.memory_gb_per_s
    given = tflops * _TERA if tflops else None
    host = entry.host_gb_per_s * _GIGA if entry.host_gb_per_s else None
    return Peaks(device, rates, memory * _GIGA if memory else None, "given" if given else origin, given, units, host)


def _entry(device: str | None) -> Device:
    for entry in devices_facts().device:
        if device and re.search(entry.pattern, device):
            return entry
    return Device(pattern="")


def _of_cubes(store: RunStore, rank: int, entry: Device) -> tuple[dict[str, float], str | None]:
    """Ascend: matrix units times frequency times operations per cycle."""
    cubes = devices_facts().cube
    cycles_per_s = _measured(store, rank, cubes.measured)
    origin = "counters"
    if cycles_per_s is None and entry.cores is not None:
        mhz = _frequency(store, rank, cubes.measured.frequency_track)
        cycles_per_s = entry.cores * mhz * 1e6 if mhz else None
        origin = "cores"
    if cycles_per_s is None:
        return {}, None
    return {dtype: cycles_per_s * per_cycle for dtype, per_cycle in cubes.flops_per_cycle.items()}, origin


def _measured(store: RunStore, rank: int, names: Measured) -> float | None:
    """Cores times frequency: cycles that all cores counted, over utilization times duration."""
    wanted = [names.cycles, names.utilization]
    counters = store.scan("pmu", [rank]).filter(pl.col("metric").cast(pl.String).is_in(wanted))
    values = counters.select("slice", pl.col("metric").cast(pl.String), "value").collect()
    if values["metric"].n_unique() < 2:
        return None
    table = values.pivot("metric", index="slice", values="value", aggregate_function="first")
    slices = store.scan("slices", [rank]).select("slice", "dur_ns").join(table.lazy(), on="slice").collect()
    cycles, used = pl.col(names.cycles), pl.col(names.utilization) / 100
    kernels = slices.filter((cycles > 0) & (used > 0) & (pl.col("dur_ns") > 0))
    # The longest kernel suffers least from the rounding of its utilization.
    best = kernels.sort("dur_ns", descending=True).head(1).select(cycles / (used * pl.col("dur_ns") / 1e9))
    return float(best.item()) if len(best) else None


def _frequency(store: RunStore, rank: int, track: str) -> float | None:
    tracks = store.scan("tracks", [rank]).filter(pl.col("name") == track).select("track")
    values = store.scan("counters", [rank]).join(tracks, on="track", how="semi").select(pl.col("value").max())
    frequency = values.collect().item()
    return None if frequency is None else float(frequency)
