"""Tables of a rank's memory: blocks with their lives, the curve that follows from them, requests that failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import NULL, Int64s
from stepscope.simulate.execution import Machine
from stepscope.simulate.memory import ActivationRows, Failure, at_end_of, reserved
from stepscope.simulate.outputs.capture import Capture
from stepscope.simulate.recording import HOST_END, HOST_START

_FORWARD_STACK: Final = "train.py(31): main\nmodel.py(57): forward"
_FIRST_ADDRESS: Final = 0x7F0000000000
_ADDRESSES_APART: Final = 1 << 30
_COMPONENT: Final = {"gpu": "caching allocator", "npu": "PTA"}
_MIB: Final = 1 << 20


@dataclass(frozen=True)
class RankMemory:
    """The memory of one rank in full detail."""

    machine: Machine
    capture: Capture
    activations: ActivationRows
    fixed: list[tuple[str, int]]

    @property
    def device(self) -> str:
        kind = self.capture.rows.device
        return "cpu" if kind == "cpu" else f"{'cuda' if kind == 'gpu' else 'npu'}:{self.capture.device_index}"

    def tables(self) -> dict[str, pl.DataFrame]:
        """``allocations``, ``memory``, ``stacks``, ``memory_events`` and ``segments``."""
        stacks = [_FORWARD_STACK]
        blocks = pl.concat([self._fixed(), self._activations(), *self._extra(stacks)], how="diagonal_relaxed")
        blocks = blocks.with_columns(
            device=pl.lit(self.device),
            address=_FIRST_ADDRESS + pl.int_range(pl.len(), dtype=pl.UInt64) * _ADDRESSES_APART,
            lost_free=pl.lit(False),
        )
        blocks, curve = _curve(blocks)
        failures = self._failures(curve, stacks)
        if not failures.is_empty():
            curve = _with_failures(curve, failures)
        component = pl.lit(_COMPONENT.get(self.capture.rows.device, "process"))
        pool = pl.lit(_COMPONENT.get(self.capture.rows.device)) if self.capture.rows.device == "npu" else pl.lit(None)
        return {
            "allocations": blocks.with_columns(pool=pool),
            "memory": curve.with_columns(device=pl.lit(self.device), component=component),
            "stacks": pl.DataFrame({"stack": range(len(stacks)), "frames": stacks}),
            "memory_events": failures.drop("free_in_pool", strict=False),
        }

    def _fixed(self) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "bytes": [size for _, size in self.fixed],
                "category": [category for category, _ in self.fixed],
                "before_window": [True] * len(self.fixed),
            },
            schema={"bytes": pl.Int64, "category": pl.String, "before_window": pl.Boolean},
        )

    def _activations(self) -> pl.DataFrame:
        capture, rows = self.capture, self.activations
        steps = np.arange(capture.before, capture.steps)
        alloc = capture.times[steps][:, rows.allocates, HOST_START]
        freed = capture.times[steps][:, rows.frees, HOST_END]
        operators = capture.rows.texts["operator"].gather(np.tile(rows.allocates, len(steps)))
        return pl.DataFrame(
            {
                "bytes": np.tile(rows.bytes, len(steps)),
                "alloc_ns": alloc.reshape(-1),
                "free_ns": freed.reshape(-1),
                "operator": operators.cast(pl.String),
            }
        ).with_columns(category=pl.lit("activation"), before_window=pl.lit(False), stack=pl.lit(0))

    def _extra(self, stacks: list[str]) -> list[pl.DataFrame]:
        capture, frames = self.capture, []
        for extra in self.machine.memory.extra:
            rows: list[dict[str, Any]] = []
            for step in range(capture.before, capture.steps):
                size = at_end_of(step, extra, capture.rank)
                if size:
                    end = step + (extra.lives_steps or capture.steps)
                    freed = int(capture.times[end, 0, HOST_END]) - 2000 if end < capture.steps else None
                    moment = int(capture.times[step, 0, HOST_END]) - 5000
                    rows.append({"bytes": size, "alloc_ns": moment, "free_ns": freed, "operator": extra.operator})
            if rows:
                stacks.append(extra.site)
                frame = pl.DataFrame(rows, schema_overrides={"free_ns": pl.Int64})
                frames.append(frame.with_columns(before_window=pl.lit(False), stack=pl.lit(len(stacks) - 1)))
        return frames

    def _failures(self, curve: pl.DataFrame, stacks: list[str]) -> pl.DataFrame:
        """Requests that fail: nothing is free, or enough but not in one piece."""
        capture = self.capture
        own = [failure for failure in self.machine.memory.failures if failure.rank == capture.rank]
        if not own or curve.is_empty():
            return pl.DataFrame()
        stacks.append(_FORWARD_STACK.replace("57", "88"))
        requested = 512 * _MIB
        rows = [
            {
                "device": self.device,
                "time_ns": self._moment(failure, curve),
                "seq": 1_000_000 + number,
                "kind": "oom",
                "bytes": requested,
                "free_bytes": 64 * _MIB,
                "stack": len(stacks) - 1,
                "free_in_pool": 2 * requested if failure.in_pieces else requested // 8,
            }
            for number, failure in enumerate(own)
        ]
        return pl.DataFrame(rows)

    def _moment(self, failure: Failure, curve: pl.DataFrame) -> int:
        """Memory in pieces shows at the end of a step, when much of it is free; a shortage where most is in use."""
        begin, end = (int(self.capture.times[failure.step, 0, column]) for column in (HOST_START, HOST_END))
        within = curve.filter(pl.col("time_ns").is_between(begin, end - 1000))
        if failure.in_pieces or within.is_empty():
            return end - 1000
        return int(within.sort("allocated", "time_ns")["time_ns"][-1]) + 1


def _curve(blocks: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The blocks with their events numbered in time order, and the curve that they make."""
    base = int(blocks.filter("before_window")["bytes"].sum())
    timed = blocks.with_row_index("block").filter(pl.col("alloc_ns").is_not_null())
    allocs = timed.select("block", time_ns="alloc_ns", change="bytes", frees=pl.lit(False))
    frees = timed.filter(pl.col("free_ns").is_not_null()).select(
        "block", time_ns="free_ns", change=-pl.col("bytes"), frees=pl.lit(True)
    )
    events = pl.concat([allocs, frees]).sort("time_ns", "frees", "block").with_row_index("seq")
    numbers: dict[str, Int64s] = {}
    for name, part in (("alloc_seq", events.filter(~pl.col("frees"))), ("free_seq", events.filter("frees"))):
        values = np.full(blocks.height, NULL, np.int64)
        values[part["block"].to_numpy()] = part["seq"].to_numpy()
        numbers[name] = values
    allocated = base + np.cumsum(events["change"].to_numpy())
    curve = pl.DataFrame({"time_ns": events["time_ns"], "allocated": allocated, "reserved": reserved(allocated)})
    return blocks.with_columns(
        **{name: pl.Series(values).replace(NULL, None) for name, values in numbers.items()}
    ), curve


def _with_failures(curve: pl.DataFrame, failures: pl.DataFrame) -> pl.DataFrame:
    """Before a request fails, the pool holds what its failure tells."""
    for moment, free in failures.select("time_ns", "free_in_pool").iter_rows():
        held = pl.when(pl.col("time_ns") <= moment).then(pl.col("allocated") + free).otherwise(pl.col("reserved"))
        at_failure = pl.col("time_ns").is_between(moment - 10_000_000_000, moment)
        curve = curve.with_columns(reserved=pl.when(at_failure).then(held.cum_max()).otherwise(pl.col("reserved")))
    return curve
