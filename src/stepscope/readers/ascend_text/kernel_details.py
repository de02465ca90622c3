"""``kernel_details.csv`` and msprof's ``op_summary``: what the device computed, with shapes and hardware counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope import facts
from stepscope.readers.ascend_text.csv_table import CsvTable, Rows
from stepscope.readers.ascend_text.timeline import Timeline
from stepscope.readers.event_columns import NULL, categorical, nullable
from stepscope.readers.slice_table import KIND, SliceTable
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

_WORDS: Final = {
    "name": ("Name", "Op Name"),
    "type": ("Type", "OP Type"),
    "core": ("Accelerator Core", "Task Type"),
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
_NO_RANK_OF_JOB: Final = ("Model Name", "Infer ID")


def read_kernels(
    paths: Sequence[Path], notes: Notes, on_read: Callable[[int], None] | None
) -> tuple[pl.DataFrame, str]:
    """All rows, typed: exact times, names, shapes, and one column per counter; and the table's name."""
    table = CsvTable(paths, notes, on_read)
    frames = [frame for rows in table.pieces() if (frame := _typed(rows)).height]
    return pl.concat(frames, how="diagonal") if frames else pl.DataFrame(), table.name


def _typed(rows: Rows) -> pl.DataFrame:
    start = rows.time("Start Time(us)", "Task Start Time(us)")
    duration = rows.time("Duration(us)", "Task Duration(us)")
    columns: dict[str, pl.Series] = {
        "start": pl.Series(start),
        "dur": pl.Series(np.where(duration == NULL, 0, duration)),
    }
    columns |= {name: rows.text(*headers).cast(pl.Categorical) for name, headers in _WORDS.items()}
    columns |= {name: rows.integer(*headers) for name, headers in _NUMBERS.items()}
    sentinels = [float(number) for number in facts.table("ascend")["sentinels"]["numbers"]]
    rows.skip(*_NO_RANK_OF_JOB, "Device_id")
    for header in rows.frame.columns:
        if rows.find_unused(header) is None or not len(rows):
            continue
        texts = rows.frame[header]
        values = texts.cast(pl.Float64, strict=False)
        if values.null_count() == texts.null_count():
            rows.find(header)
            columns[_METRIC + header] = values.set(values.is_in(sentinels).fill_null(False), None)
        elif texts.n_unique() <= _MOST_WORDS:
            rows.find(header)
            for word in texts.drop_nulls().unique(maintain_order=True):
                columns[f"{_METRIC}{header}: {word}"] = pl.select(
                    pl.when((texts == word).fill_null(False)).then(1.0)
                ).to_series()
    frame = pl.DataFrame(columns)
    # Formats of both sides in one column, as slices have one.
    both = pl.concat_str(
        pl.col("input_formats").cast(pl.String).fill_null(""), pl.col("output_formats").cast(pl.String), separator="->"
    )
    return frame.with_columns(formats=both.cast(pl.Categorical)).drop("input_formats", "output_formats")


def join_kernels(timeline: Timeline, kernels: pl.DataFrame, table: str, out: RankWriter, notes: Notes) -> Int64s:
    """Put the rows onto the device's slices; gives the row of each slice, -1 where there is none."""
    slices = timeline.slices
    row_of = np.full(len(slices), -1, np.int64)
    if kernels.is_empty() or not len(slices):
        return row_of
    candidates = np.flatnonzero(timeline.on_layer("hardware", "group") & ~slices.is_kind("reported", "mark"))
    found = _match(kernels, slices, timeline.argument, candidates)
    row_of[found["position"].to_numpy()] = found["row"].to_numpy()
    described = timeline.unknown_task & (row_of >= 0)
    slices.kind[described] = KIND["kernel"]
    notes.add("ascend_kernel_unmatched", file=table, count=kernels.height - found.height)
    return row_of


def note_unknown_tasks(timeline: Timeline, row_of: Int64s, notes: Notes) -> None:
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
    chosen = kernels.select(metrics)[row_of[having]]
    for name in metrics:
        frame = pl.DataFrame({"slice": slices.id[having], "value": chosen[name]}).drop_nulls()
        out.add("pmu", frame.with_columns(metric=pl.lit(name.removeprefix(_METRIC))).select("slice", "metric", "value"))


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
    """Pairs of row and position: by start and name; else by start, stream and task; else by a start that is unique."""
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
    for keys in (["start", "name"], ["start", "stream", "task"], ["start"]):
        if keys == ["start"]:
            rows = rows.filter(pl.len().over("start") == 1)
            tasks = tasks.filter(pl.len().over("start") == 1)
        number = pl.int_range(pl.len()).over(keys).alias("number")
        found = rows.with_columns(number).join(
            tasks.with_columns(number).select("position", "number", *keys), on=[*keys, "number"], how="inner"
        )
        pairs.append(found.select("row", "position"))
        rows = rows.join(found, on="row", how="anti", maintain_order="left")
        tasks = tasks.join(found, on="position", how="anti", maintain_order="left")
    return pl.concat(pairs)
