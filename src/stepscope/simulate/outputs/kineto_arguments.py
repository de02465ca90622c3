"""Arguments of slices as PyTorch's profiler writes them: what joins launches with kernels and tells of collectives."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.simulate.instructions import Instruction
from stepscope.simulate.outputs.capture import Capture, DeviceRows
from stepscope.simulate.outputs.naming import CALL_TYPES, COLLECTIVE_NAMES

_ELEMENT_BYTES: Final = {"BFloat16": 2, "Half": 2, "Float": 4}
_MOST_RANKS: Final = 64  # named in each call; PyTorch shortens longer lists, too


def kineto_details(frame: pl.DataFrame, capture: Capture, device: DeviceRows) -> pl.DataFrame:
    """Rows of ``details``: the arguments of operators, calls and device slices, as JSON."""
    operators = frame.filter(pl.col("external").is_not_null()).select(
        "slice",
        json=_filled(
            '{"External id": ?, "Input Dims": ?, "Input type": ?, "Module Hierarchy": "?"}',
            pl.col("external"),
            pl.col("input_shapes").cast(pl.String).fill_null("[]"),
            pl.col("dtypes").cast(pl.String).fill_null("[]"),
            pl.col("module").cast(pl.String).fill_null(""),
        ),
    )
    calls = frame.filter((pl.col("kind") == "runtime") & pl.col("correlation").is_not_null()).select(
        "slice", json=_filled('{"External id": ?, "cbid": 211, "correlation": ?}', *[pl.col("correlation")] * 2)
    )
    on_device = frame[device.slice].select(
        "slice",
        json=_filled(
            '{"External id": ?, "device": ?, "context": 1, "stream": ?, "correlation": ?',
            pl.col("correlation").fill_null(0),
            pl.lit(capture.device_index),
            pl.col("stream"),
            pl.col("correlation").fill_null(0),
        ),
        bytes="bytes",
    )
    sequence = capture.sequence(device.step, device.row)
    fragments = {row: _collective(capture, instruction) for row, instruction in _collectives(capture)}
    ends = [
        f", {fragments[row]}{_sequence(number)}}}" if row in fragments else "}"
        for row, number in zip(device.row.tolist(), sequence.tolist(), strict=True)
    ]
    copied = pl.when(pl.col("bytes").is_not_null()).then(_filled(', "bytes": ?', pl.col("bytes"))).otherwise(pl.lit(""))
    on_device = on_device.select("slice", json=pl.concat_str("json", copied, pl.Series(ends)))
    return pl.concat([operators, calls, on_device])


def _filled(template: str, *values: pl.Expr) -> pl.Expr:
    """The template with a value for each question mark."""
    first, *rest = template.split("?")
    parts: list[pl.Expr] = [pl.lit(first)]
    for value, text in zip(values, rest, strict=True):
        parts += [value.cast(pl.String), pl.lit(text)]
    return pl.concat_str(parts)


def _sequence(number: int) -> str:
    return f', "Seq": {number}' if number >= 0 else ""


def _collectives(capture: Capture) -> list[tuple[int, Instruction]]:
    return [(row, capture.rows.instructions[row]) for row in np.flatnonzero(capture.rows.collective).tolist()]


def _collective(capture: Capture, instruction: Instruction) -> str:
    """What a communication kernel tells of itself, without braces."""
    group = capture.groups[instruction.dimension]
    members = len(group.ranks)
    dtype = CALL_TYPES[instruction.dtype]
    elements = instruction.size // _ELEMENT_BYTES[dtype]
    kind = instruction.kind
    arguments: dict[str, Any] = {
        "Collective name": COLLECTIVE_NAMES[kind],
        "In msg nelems": elements // members if kind == "all_gather" else elements,
        "Out msg nelems": elements // members if kind == "reduce_scatter" else elements,
        "Group size": members,
        "dtype": dtype,
        "Process Group Name": group.name,
        "Process Group Description": group.dimension,
    }
    if members <= _MOST_RANKS:
        arguments["Process Group Ranks"] = str(list(group.ranks))
    if kind in ("send", "receive"):
        arguments["Dst Rank" if kind == "send" else "Src Rank"] = capture.peer(instruction)
    return json.dumps(arguments)[1:-1]
