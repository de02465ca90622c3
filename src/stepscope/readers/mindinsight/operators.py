"""What the framework says about operators: ``framework_raw``, one row per task of the graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.readers.files import repair
from stepscope.readers.files.numbers import integer
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.text_files import read_csv

_SCHEMA: Final = {
    "name": pl.String,
    "stream": pl.Int64,
    "task": pl.Int64,
    "type": pl.String,
    "core": pl.String,
    "input_shapes": pl.String,
    "output_shapes": pl.String,
    "dtypes": pl.String,
    "formats": pl.String,
    "json": pl.String,
}
#: Columns that describe an operator wherever it ran.
DESCRIPTION: Final = ("type", "core", "input_shapes", "output_shapes", "dtypes", "formats", "json")


def read_framework(path: Path, reading: Reading) -> pl.DataFrame:
    """One row per task, with full name, stream and task number, type, shapes, types and formats of its tensors."""
    table = read_csv(path, reading)
    if table is None:
        return pl.DataFrame(schema=_SCHEMA)
    names = table.cells("full_kernel_name", "full_op_name", "op_full_name")
    if names is None:
        reading.notes.add("mindspore_columns_missing", file=path.name, columns="full_kernel_name")
        return pl.DataFrame(schema=_SCHEMA)
    nothing = [""] * len(names)
    streams, tasks = table.cells("stream_id") or nothing, table.cells("task_id") or nothing
    types = table.cells("kernel_type", "op_type") or nothing
    cores = table.cells("task_type") or nothing
    rows = []
    unclear = 0
    for row, (name, text) in enumerate(zip(names, table.cells("op_info") or nothing, strict=True)):
        tensors = _tensors(text)
        unclear += tensors is None
        said = {column: cell for column, cell in zip(table.header, table.rows[row], strict=True) if cell}
        said.pop("op_info", None)
        rows.append(
            {
                "name": name,
                "stream": integer(streams[row]),
                "task": integer(tasks[row]),
                "type": types[row] or None,
                "core": cores[row] or None,
                "json": json.dumps(said | ({"op_info": tensors} if tensors else {}), default=str),
                **describe(tensors or {}),
            }
        )
    reading.notes.add("operator_tensors_unclear", file=path.name, count=unclear)
    return pl.DataFrame(rows, schema=_SCHEMA)


def nothing() -> pl.DataFrame:
    """What :func:`read_framework` gives for a file without rows."""
    return pl.DataFrame(schema=_SCHEMA)


def describe(tensors: dict[str, Any]) -> dict[str, str | None]:
    """Columns of ``slices`` from ``{"input_0": {"format": …, "data_type": …, "shape": "2,3"}, "output_0": …}``.

    >>> describe({"input_0": {"format": "NCHW", "data_type": "NUMBER_TYPE_FLOAT32", "shape": "2,3"}})["input_shapes"]
    '2,3'
    """
    ends = {
        side: [value for key, value in tensors.items() if key.startswith(side) and isinstance(value, dict)]
        for side in ("input", "output")
    }
    inputs, both = ends["input"], ends["input"] + ends["output"]
    return {
        "input_shapes": _joined(inputs, "shape"),
        "output_shapes": _joined(ends["output"], "shape"),
        "dtypes": _joined(inputs, "data_type"),
        "formats": _joined(both, "format"),
    }


def _joined(tensors: list[dict[str, Any]], key: str) -> str | None:
    if not any(key in tensor for tensor in tensors):
        return None
    # A scalar has the shape "".
    return ";".join(repair.clean_text(str(tensor.get(key, ""))).removeprefix("NUMBER_TYPE_") for tensor in tensors)


def _tensors(text: str) -> dict[str, Any] | None:
    if not text:
        return {}
    tensors = repair.lenient(text.encode("utf-8", "replace"))
    return tensors if isinstance(tensors, dict) else None
