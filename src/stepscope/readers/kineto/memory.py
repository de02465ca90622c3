"""``[memory]`` instants of Kineto: the curve of each device, and blocks with their life."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Int64s
from stepscope.facts.kineto import kineto_facts
from stepscope.readers.slices.block_lives import lives
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import Batch, categorical, nullable
from stepscope.readers.trace_json.typed_arguments import typed_columns
from stepscope.store.nesting import nearest
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

_NAME: Final = "[memory]"
_HOST: Final = "cpu"


class _Memory(msgspec.Struct, gc=False):
    size: int = msgspec.field(name="Bytes", default=NULL)
    address: int = msgspec.field(name="Addr", default=NULL)
    allocated: int = msgspec.field(name="Total Allocated", default=NULL)
    reserved: int = msgspec.field(name="Total Reserved", default=NULL)
    device_type: int = msgspec.field(name="Device Type", default=NULL)
    device: int = msgspec.field(name="Device Id", default=NULL)


class MemoryEvents:
    """Grows by batches of instants; writes ``memory`` and ``allocations`` at the end."""

    def __init__(self) -> None:
        self._parts: list[tuple[Int64s, ...]] = []

    def add(self, batch: Batch, names: Codes) -> Int64s:
        """Takes the memory events out of a batch; returns the indices of the others."""
        is_memory = (batch.name == names.get(_NAME, -1)) & (batch.argument_lengths > 0)
        if is_memory.any():
            own = np.flatnonzero(is_memory)
            columns_of_memory = typed_columns(_Memory, batch, own, {})
            absent = np.full(len(own), NULL, np.int64)
            columns = (columns_of_memory.get(name, absent) for name in _Memory.__struct_fields__)
            self._parts.append((batch.index[own], batch.track[own].astype(np.int64), batch.time[own], *columns))
        return np.flatnonzero(~is_memory)

    def write(self, out: RankWriter, slices: SliceTable, stack: Int64s, base_ns: int, notes: Notes, file: str) -> None:
        if not self._parts:
            return
        index, track, time, size, address, allocated, reserved, device_type, device = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        good = (time != NULL) & (size != NULL)
        notes.add("memory_event_incomplete", file=file, count=int((~good).sum()))
        holder = slices.nesting.containing(track.astype(np.int32), time + base_ns)
        owner = nearest(slices.parent, slices.is_kind("operator"))
        operator = np.where(holder == NONE, NONE, owner[holder]) if len(slices) else np.full(len(index), NONE)
        code = np.where(operator == NONE, -1, slices.name[operator]) if len(slices) else operator
        operators = categorical(code, slices.names.texts())
        stacks = np.where(holder == NONE, NULL, stack[holder]) if len(slices) else np.full(len(index), NULL)
        events = (
            pl.DataFrame(
                {
                    "seq": index,
                    "time_ns": time + base_ns,
                    "size": size,
                    "address": nullable(address),
                    "allocated": nullable(allocated),
                    "reserved": nullable(reserved),
                    "device": _device_names(device_type, device),
                    "operator": operators,
                    "stack": nullable(stacks),
                }
            )
            .filter(pl.Series(good))
            .sort("time_ns", "seq")
        )
        out.add("memory", _curve(events, notes, file).with_columns(component=pl.lit("caching allocator")))
        placed = events.filter(pl.col("address").is_not_null())
        notes.add("memory_without_address", file=file, count=events.height - placed.height)
        bits = placed["address"].to_numpy().view(np.uint64)
        out.add("allocations", lives(placed.with_columns(address=pl.Series(bits, dtype=pl.UInt64))))


def _curve(events: pl.DataFrame, notes: Notes, file: str) -> pl.DataFrame:
    """Totals as the events state them.

    Until torch 1.9 they state neither totals nor addresses: then the running sum of sizes, above the least that must
    have been allocated before, because it was freed.
    """
    events = _with_shared_memory(events)
    silent = events.group_by("device", maintain_order=True).agg(
        told=pl.col("allocated").is_not_null().any() | pl.col("address").is_not_null().all()
    )
    added_up = silent.filter(~pl.col("told"))["device"]
    for device in added_up:
        notes.add("memory_curve_added_up", file=file, device=device)
    total = pl.col("size").cum_sum().over("device")
    least = pl.min_horizontal(pl.col("total").min().over("device"), 0)
    return (
        events.with_columns(total=total)
        .with_columns(
            allocated=pl.when(pl.col("device").is_in(added_up.implode()))
            .then(pl.col("total") - least)
            .otherwise("allocated")
        )
        .filter(pl.col("allocated").is_not_null())
        # An allocator without a pool, as the host's, states 0 throughout: it reserves nothing beyond its blocks.
        .with_columns(reserved=pl.when((pl.col("reserved") > 0).any().over("device")).then("reserved"))
        .select("device", "time_ns", "allocated", "reserved")
    )


def _with_shared_memory(events: pl.DataFrame) -> pl.DataFrame:
    """Totals of the host with the tensors in shared memory, such as batches from worker processes.

    Such a tensor belongs to no allocator: its event states 0 as allocated and itself as reserved, its release 0 twice.
    Read as totals of the allocator, they would make it drop to nothing whenever a batch arrives. They are added to it.
    """
    size, allocated, reserved = pl.col("size"), pl.col("allocated"), pl.col("reserved")
    states_nothing = (pl.col("device") == _HOST) & (allocated == 0)
    before = pl.when(~states_nothing).then(allocated).forward_fill().over("device")  # what the allocator said last
    is_release = (size < 0) & (reserved == 0) & (before + size != 0).fill_null(True)
    is_shared = states_nothing & (((size > 0) & (reserved == size)) | is_release)
    events = events.with_columns(shared=is_shared.fill_null(False))
    if not events["shared"].any():
        return events
    own = pl.when(~pl.col("shared")).then("allocated")
    at_first = pl.when(~pl.col("shared")).then(allocated - size).backward_fill().fill_null(0)
    shared = pl.when("shared").then("size").otherwise(0).cum_sum()
    on_host = pl.col("device") == _HOST
    return events.with_columns(
        allocated=pl.when(on_host)
        .then(
            own.forward_fill().fill_null(at_first).over("device")
            + (shared - pl.min_horizontal(shared.min(), 0)).over("device")
        )
        .otherwise("allocated"),
        reserved=pl.when("shared").then(0).otherwise("reserved"),
    )


def _device_names(device_type: Int64s, device: Int64s) -> pl.Series:
    known = kineto_facts().device_types
    pairs = pl.DataFrame({"type": device_type, "index": device})
    distinct = pairs.unique()
    labels = [
        known.get(str(kind), f"device{kind}") + (f":{number}" if number >= 0 else "")
        for kind, number in distinct.iter_rows()
    ]
    return pairs.join(
        distinct.with_columns(label=pl.Series(labels, dtype=pl.String)),
        on=["type", "index"],
        how="left",
        maintain_order="left",
    )["label"]
