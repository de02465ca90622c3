"""``kernel_details.csv`` and msprof's ``op_summary``: what the device computed, with shapes and hardware counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NULL, Int64s
from stepscope.facts.ascend import ascend_facts
from stepscope.readers.ascend.csv_table import CsvTable, Rows
from stepscope.readers.ascend_text.timeline import TraceTimeline
from stepscope.readers.files.reading import Reading
from stepscope.readers.slices.slice_table import KIND, SliceTable
from stepscope.readers.trace_json.event_columns import categorical, nullable
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

_WORDS: Final = {
    "name": ("Name", "Op Name", "kernel_name"),
    "type": ("Type", "OP Type"),
    "core": ("Accelerator Core", "Task Type", "kernel_type"),
    "input_shapes": ("Input Shapes",),
    "output_shapes": ("Output Shapes",),
    "dtypes": ("Input Data Types",),
    "output_dtypes": ("Output Data Types",),
    "input_formats": ("Input Formats",),
    "output_formats": ("Output Formats",),
}
_NUMBERS: Final = {"stream": ("Stream ID",), "task": ("Task ID",), "step": ("Step Id",)}
#: Columns of the table that become columns of slices.
TEXTS: Final = ("type", "core", "input_shapes", "output_shapes", "dtypes", "formats")
_METRIC: Final = "metric "  # marks columns that hold counters
_MOST_WORDS: Final = 20  # a text column with more distinct values than this is no property of a kernel
_REPEATED: Final = ("Device_id", "task_stop(us)")
_NEARLY_NS: Final = 1_000


def read_kernels(paths: Sequence[Path], reading: Reading) -> tuple[pl.DataFrame, str]:
    """All rows, typed: exact times, names, shapes, and one column per counter; and the table's name."""
    table = CsvTable(paths, reading)
    frames = [frame for rows in table.pieces() if (frame := _typed(rows)).height]
    return pl.concat(frames, how="diagonal") if frames else pl.DataFrame(), table.name


def _typed(rows: Rows) -> pl.DataFrame:
    start = rows.time("Start Time(us)", "Task Start Time(us)", "task_start(us)")
    duration = rows.time("Duration(us)", "Task Duration(us)", "task_time(us)")
    columns: dict[str, pl.Series] = {
        "start": pl.Series(start),
        "dur": pl.Series(np.where(duration == NULL, 0, duration)),
    }
    columns |= {name: rows.text(*headers).cast(pl.Categorical) for name, headers in _WORDS.items()}
    columns |= {name: rows.integer(*headers) for name, headers in _NUMBERS.items()}
    rows.skip(*_REPEATED)
    columns |= {name.replace("Block Num", "Block Dim"): values for name, values in _metrics(rows).items()}
    frame = pl.DataFrame(columns)
    # Formats of both sides in one column, as slices have one.
    both = pl.concat_str(
        pl.col("input_formats").cast(pl.String).fill_null(""), pl.col("output_formats").cast(pl.String), separator="->"
    )
    return frame.with_columns(formats=both.cast(pl.Categorical)).drop("input_formats", "output_formats")


def _metrics(rows: Rows) -> dict[str, pl.Series]:
    """What is left of a row: numbers as they are, words as one counter each that is 1."""
    sentinels = [float(number) for number in ascend_facts().sentinels.numbers]
    words = rows.frame.select(name for name in rows.unused() if rows.frame[name].null_count() < len(rows))
    numeric = words.cast(pl.Float64, strict=False).null_count().row(0) if words.width else ()
    columns: dict[str, pl.Series] = {}
    for name, nulls in zip(words.columns, numeric, strict=True):
        texts = words[name]
        if nulls == texts.null_count():
            continue
        distinct = texts.drop_nulls().unique(maintain_order=True)
        if nulls == len(rows) and len(distinct) <= _MOST_WORDS:
            rows.skip(name)
            for word in distinct:
                told = pl.when((texts == word).fill_null(False)).then(1.0)
                columns[f"{_METRIC}{name}: {word}"] = pl.select(told).to_series()
    values = rows.numbers().select(pl.when(~pl.all().is_in(sentinels)).then(pl.all()))
    return {_METRIC + name: values[name] for name in values.columns} | columns


def join_kernels(timeline: TraceTimeline, kernels: pl.DataFrame, table: str, notes: Notes) -> Int64s:
    """Put the rows onto the device's slices; gives the row of each slice, -1 where there is none."""
    slices = timeline.slices
    row_of = np.full(len(slices), -1, np.int64)
    if kernels.is_empty() or not len(slices):
        return row_of
    candidates = np.flatnonzero(timeline.on_layer("hardware", "group") & ~slices.is_kind("reported", "mark"))
    pairs = _match(kernels, slices, timeline.argument, candidates)
    row_of[pairs["position"].to_numpy()] = pairs["row"].to_numpy()
    described = timeline.unknown_task & (row_of >= 0)
    slices.kind[described] = KIND["kernel"]
    notes.add("ascend_kernel_unmatched", file=table, count=kernels.height - pairs.height)
    return row_of


def note_unknown_tasks(timeline: TraceTimeline, row_of: Int64s, notes: Notes) -> None:
    """Count the task types that no table knows."""
    types = timeline.texts["task_type"].texts()
    unknown = np.flatnonzero(timeline.unknown_task)
    codes = timeline.argument["task_type"][unknown]
    for code in np.unique(codes).tolist():
        own = unknown[codes == code]
        name = types[code] if code >= 0 else "-"
        for kind, count in (("kernel", int((row_of[own] >= 0).sum())), ("sync", int((row_of[own] < 0).sum()))):
            notes.add("ascend_task_type_unknown", file=timeline.file, count=count, type=name, kind=kind)


def write_counters(slices: SliceTable, kernels: pl.DataFrame, row_of: Int64s, out: RankWriter) -> None:
    """Rows of ``pmu``."""
    having = np.flatnonzero(row_of >= 0)
    metrics = [name for name in kernels.columns if name.startswith(_METRIC)]
    if not len(having) or not metrics:
        return
    chosen = kernels.select(pl.col(name).alias(name.removeprefix(_METRIC)) for name in metrics)[row_of[having]]
    ids = pl.Series("slice", slices.id[having])
    # One metric after the other, so that the column of names is written once per metric, not once per kernel.
    counted = chosen.with_columns(ids).unpivot(index="slice", variable_name="metric", value_name="value")
    out.add("pmu", counted.drop_nulls("value"))


def fill_texts(slices: SliceTable, kernels: pl.DataFrame, row_of: Int64s) -> None:
    """Columns of ``slices`` that the rows tell."""
    for column in TEXTS:
        if column in kernels.columns:
            words = kernels[column].cast(pl.String)
            distinct = words.drop_nulls().unique(maintain_order=True)
            codes = words.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
            slices.texts[column] = (np.where(row_of >= 0, codes[row_of], -1), distinct.to_list())


def _match(
    kernels: pl.DataFrame, slices: SliceTable, argument: dict[str, npt.NDArray[np.int64]], candidates: Int64s
) -> pl.DataFrame:
    """Pairs of row and position: by start and name; by start, stream and task; by name and nearly the same start, as
    the vendor cuts the starts of communication calls off; at last by a start that is unique."""
    rows = kernels.select("start", "name", "stream", "task").with_row_index("row")
    rows = rows.filter(pl.col("start") != NULL).with_columns(pl.col("row").cast(pl.Int64))
    tasks = pl.DataFrame(
        {
            "position": candidates,
            "start": slices.start[candidates],
            "name": categorical(slices.name[candidates], slices.names.texts()),
            "stream": nullable(argument["stream"][candidates]),
            "task": nullable(argument["task"][candidates]),
        }
    )
    pairs = []
    for find in (_same(["start", "name"]), _same(["start", "stream", "task"]), _nearly, _only):
        if rows.is_empty():
            break
        matched = find(rows, tasks)
        pairs.append(matched.select("row", "position"))
        rows = rows.join(matched, on="row", how="anti", maintain_order="left")
        tasks = tasks.join(matched, on="position", how="anti", maintain_order="left")
    return pl.concat(pairs) if pairs else pl.DataFrame(schema={"row": pl.Int64, "position": pl.Int64})


def _same(keys: list[str]) -> Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]:
    number = pl.int_range(pl.len()).over(keys).alias("number")
    return lambda rows, tasks: rows.with_columns(number).join(
        tasks.with_columns(number).select("position", "number", *keys), on=[*keys, "number"], how="inner"
    )


def _nearly(rows: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    near = rows.drop_nulls("name").join(tasks.select("position", "name", begin="start"), on="name", how="inner")
    off = (pl.col("start") - pl.col("begin")).abs()
    near = near.filter(off <= _NEARLY_NS).sort(off, maintain_order=True)
    return near.unique("row", keep="first", maintain_order=True).unique("position", keep="first")


def _only(rows: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    alone = pl.len().over("start") == 1
    return rows.filter(alone).join(tasks.filter(alone).select("position", "start"), on="start", how="inner")
