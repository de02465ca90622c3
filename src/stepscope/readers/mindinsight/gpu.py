"""What ran on a GPU under MindSpore: operators and CUDA activities with their times.

Built from documentation, not from a sample of the raw files: ``gpu_op_execute_timestamp`` (ns, us),
``activity_execute_timestamp`` (``kernel;stream;ns;us``) and ``gpu_activity_data``, which says which operator launched
a kernel.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import polars as pl

from stepscope.facts.communication import communication_kernel
from stepscope.readers.files.numbers import NS, US, scaled, scaled_column
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import matched, read_csv, read_text
from stepscope.readers.mindspore_cpu.kernel_times import read_kernel_times
from stepscope.readers.mindspore_cpu.operators import described
from stepscope.readers.mindspore_cpu.scopes import module, phase
from stepscope.readers.mindspore_cpu.shapes import read_shapes, with_shapes
from stepscope.readers.slices.slice_parts import SliceParts

_ACTIVITY: Final = r"^(?<name>.*);(?<stream>\d{1,9});(?<start>[^;]+);(?<dur>[^;]+)$"
_ACTIVITY_TEXTS: Final = ("type", "op_full_name", "stream_id", "block_dim", "grid_dim")
_OPERATOR_TEXTS: Final = ("op_side", "op_type", "op_name")
_ACTIVITY_DATA: Final = {"name": pl.String, "operator": pl.String, "type": pl.String, "json": pl.String}
_PROCESS: Final = "GPU"


def read_gpu_operators(
    path: Path,
    types: dict[str, str],
    shapes: Path | None,
    parts: SliceParts,
    reading: Reading,
) -> None:
    """Framework operators with their times."""
    runs = read_kernel_times(path, US, reading)
    if shapes is not None:
        runs = with_shapes(runs, read_shapes(shapes, reading), reading.notes, shapes.name)
    if runs.is_empty():
        return
    parts.add(
        described(runs, types).with_columns(
            track=pl.lit(parts.tracks.track("host", "GPU operators", _PROCESS)), kind=pl.lit("operator")
        ),
        path.name,
    )


def read_activities(path: Path, launched_by: pl.DataFrame, parts: SliceParts, reading: Reading) -> None:
    """Kernels on their streams; those of NCCL are collectives."""
    activities = matched(path, _ACTIVITY, reading)
    if activities.is_empty():
        return
    streams = activities["stream"].unique(maintain_order=True)
    tracks = {stream: parts.tracks.track("stream", f"Stream {stream}", _PROCESS, stream) for stream in streams}
    communicates = pl.col("name").str.contains(communication_kernel().pattern)
    runs = activities.select("name", "stream").with_columns(
        start_ns=scaled_column(activities["start"], NS), dur_ns=scaled_column(activities["dur"], US)
    )
    joined = runs.join(launched_by, on="name", how="left", maintain_order="left")
    parts.add(
        joined.with_columns(
            pl.col("stream").cast(pl.Int64),
            track=pl.col("stream").replace_strict(tracks, return_dtype=pl.Int32),
            kind=pl.when(communicates).then(pl.lit("collective")).otherwise(pl.lit("kernel")),
            core=pl.lit("GPU"),
            module=module("operator"),
            phase=phase("operator"),
        ),
        path.name,
    )


def read_activity_data(path: Path, reported: Reported, reading: Reading) -> pl.DataFrame:
    """``gpu_activity_data`` into ``reported``; returns the operator, type and geometry of each kernel by name."""
    table = read_csv(path, reading)
    if table is None:
        return no_activity_data()
    reported.add_table(path.name, table, ("name",), reading.notes, _ACTIVITY_TEXTS)
    names = table.cells("name")
    if names is None:
        reading.notes.add("mindspore_columns_missing", file=path.name, columns="name")
        return no_activity_data()
    columns = [(text, column) for text in _ACTIVITY_TEXTS if (column := table.column(text)) is not None]
    rows = [
        {"name": name, "operator": said.get("op_full_name"), "type": said.get("type"), "json": json.dumps(said)}
        for name, row in zip(names, table.rows, strict=True)
        if (said := {text: row[column] for text, column in columns}) is not None
    ]
    return pl.DataFrame(rows, schema=_ACTIVITY_DATA).unique("name", keep="first", maintain_order=True)


def no_activity_data() -> pl.DataFrame:
    """What :func:`read_activity_data` gives for a file without rows."""
    return pl.DataFrame(schema=_ACTIVITY_DATA)


def read_gpu_details(path: Path, reported: Reported, reading: Reading) -> dict[str, str]:
    """``gpu_op_detail_info`` into ``reported``; returns the type of each operator by its full name."""
    table = read_csv(path, reading)
    if table is None:
        return {}
    reported.add_table(path.name, table, ("op_full_name", "full_op_name"), reading.notes, _OPERATOR_TEXTS)
    names, types = table.cells("op_full_name", "full_op_name"), table.cells("op_type")
    return dict(zip(names, types, strict=True)) if names is not None and types is not None else {}


def read_shift(path: Path, reading: Reading) -> int:
    """What brings times of host operators onto the GPU's clock: the two lines of ``start_time``, host and GPU."""
    lines = read_text(path, reading)
    times = [scaled(line.rsplit(":", maxsplit=1)[-1], NS) for line in lines if line.strip()]
    if len(times) < 2 or times[0] is None or times[1] is None:
        reading.notes.add("mindspore_file_damaged", file=path.name)
        return 0
    return times[1] - times[0]
