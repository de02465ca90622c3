"""Memory in a Chrome trace: one instant per allocation and free, as PyTorch's profiler writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import polars as pl

from stepscope.facts.kineto import kineto_facts
from stepscope.store.run_store import RunStore

_HOST = "cpu"


def memory_instants(store: RunStore, rank: int) -> Iterator[tuple[int, str]]:
    """When blocks of a rank come and go, in their order, and what an instant tells of it, as JSON.

    Totals are those of the recorded curve, which has a point for each of them; what lies before the window has none.
    """
    blocks = store.scan("allocations", [rank]).with_columns(pl.col("device").cast(pl.String)).collect()
    curves = store.scan("memory", [rank]).with_columns(pl.col("device").cast(pl.String)).collect()
    for (device,), own in blocks.group_by("device", maintain_order=True):
        events = _events(own)
        curve = curves.filter(pl.col("device") == device).sort("time_ns", maintain_order=True)
        if len(curve) != len(events):
            continue
        kind, number = _device_type(str(device))
        for (moment, address, size), (allocated, reserved) in zip(
            events.iter_rows(), curve.select("allocated", "reserved").iter_rows(), strict=True
        ):
            told = {
                "Total Reserved": 0 if number < 0 else reserved or 0,  # the host has no pool
                "Total Allocated": allocated,
                "Bytes": size,
                "Device Id": number,
                "Device Type": kind,
                "Addr": address,
            }
            yield moment, json.dumps(told)


def _events(blocks: pl.DataFrame) -> pl.DataFrame:
    """``time_ns``, ``address`` and ``bytes``, negative for a free, in the order in which they happened."""
    allocs = blocks.select("address", "bytes", time_ns="alloc_ns", seq="alloc_seq")
    frees = blocks.select("address", -pl.col("bytes"), time_ns="free_ns", seq="free_seq")
    return pl.concat([allocs, frees]).drop_nulls("time_ns").sort("seq").select("time_ns", "address", "bytes")


def _device_type(device: str) -> tuple[int, int]:
    """The numbers for a device such as ``cuda:3``; the host has none."""
    name, _, number = device.partition(":")
    kinds = {known: int(kind) for kind, known in kineto_facts().device_types.items()}
    return kinds[name], int(number) if name != _HOST else -1
