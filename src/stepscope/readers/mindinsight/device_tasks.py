"""What ran on an Ascend device, and when: ``output_timeline_data``, ``output_format_data_hwts`` and AI CPU lists.

The hardware scheduler's log (hwts) counts 10 ns and knows tasks by stream and number; the timeline data is made from
it and knows operators. Both are on the device's clock, as the step trace is. Each task is a slice once: with its
operator where the timeline data or the framework names one, else as a scheduling task of kind ``sync``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import polars as pl

from stepscope.readers.files.numbers import COUNTS, MS, US, scaled_column
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import Table, first_line, lines, matched, read_csv
from stepscope.readers.mindinsight.operators import DESCRIPTION
from stepscope.readers.mindspore_cpu.scopes import module, phase
from stepscope.readers.slices.slice_parts import SliceParts
from stepscope.store.notes import Notes

_TASK: Final = r"^(?<name>.+),\s*(?<stream>\d{1,9})\s*,\s*(?<start>[^,]+),\s*(?<dur>[^,]+)$"
_HWTS: Final = (
    r"^(?<edge>Start|End) of task\s+\d+\s+\d+\s+\d+\s+(?<task>\d{1,9}_\d{1,9}|\d{1,9})\s+(?<count>\d{1,18})\s+"
    r"(?<stream>\d{1,9})\s*$"
)
_AICPU_OLD: Final = (
    r"^\s*(?<serial_number>\d+)\s+(?<kernel_type>\S+)\s+(?<total_time>\S+)\s+(?<dispatch_time>\S+)\s+(?<run_start>\d+)\s+"
    r"(?<run_end>\d+)\s*$"
)
_AICPU_TOTAL: Final = r"^AI CPU Total Time\(ms\):\s*(?<value>\S+)\s*$"


def read_tasks(path: Path, reading: Reading) -> pl.DataFrame:
    """Columns name, stream, start_ns and dur_ns of ``output_timeline_data``; its heading says the unit of the start."""
    heading = first_line(path)
    unit = US if "start_time(us)" in heading else MS
    tasks = matched(path, _TASK, reading, skip=1 if "start_time" in heading else 0)
    if tasks.is_empty():
        return pl.DataFrame(schema={"name": pl.String, "stream": pl.Int64, "start_ns": pl.Int64, "dur_ns": pl.Int64})
    dur_unit = US if "duration(us)" in heading else MS
    return tasks.select(
        pl.col("name").str.strip_chars(),
        pl.col("stream").cast(pl.Int64),
        start_ns=scaled_column(tasks["start"], unit),
        dur_ns=scaled_column(tasks["dur"], dur_unit),
    )


def read_hwts(path: Path, reading: Reading) -> pl.DataFrame:
    """Columns stream, task, start_ns and dur_ns: each end belongs to the latest start of its task that has none."""
    events = matched(path, _HWTS, reading, skip=2)
    schema = {"stream": pl.Int64, "task": pl.Int64, "start_ns": pl.Int64, "dur_ns": pl.Int64}
    if events.is_empty():
        return pl.DataFrame(schema=schema)
    edges = events.select(
        pl.col("stream").cast(pl.Int64),
        pl.col("task").str.split("_").list.last().cast(pl.Int64),
        time=scaled_column(events["count"], COUNTS),
        starts=pl.col("edge") == "Start",
    ).with_row_index("line")
    task = ["stream", "task"]
    following = edges.with_columns(
        end=pl.col("time").shift(-1).over(task), ended=(~pl.col("starts")).shift(-1).over(task).fill_null(False)
    )
    runs = following.filter(pl.col("starts") & pl.col("ended") & pl.col("time").is_not_null()).sort("line")
    starts = int(edges["starts"].sum())
    reading.notes.add("hwts_start_without_end", file=path.name, count=starts - runs.height)
    reading.notes.add("hwts_end_without_start", file=path.name, count=edges.height - starts - runs.height)
    return runs.select("stream", "task", start_ns="time", dur_ns=pl.col("end") - pl.col("time"))


def add_tasks(
    tasks: pl.DataFrame,
    hwts: pl.DataFrame,
    framework: pl.DataFrame,
    parts: SliceParts,
    notes: Notes,
    device: str,
    files: dict[str, str],
) -> None:
    """Slices of all tasks; ``files`` names the three files for the notes."""
    if tasks.is_empty() and not hwts.is_empty() and not framework.is_empty():
        # The timeline data is missing, but the log has the times and the framework the names.
        names = framework.select("name", "stream", "task").unique(["stream", "task"], keep="first")
        tasks = hwts.join(names, on=["stream", "task"], how="inner", maintain_order="left").drop("task")
    moment = ["stream", "start_ns", "dur_ns"]
    scheduling = hwts.join(tasks, on=moment, how="anti", maintain_order="left")
    notes.add("hwts_tasks_of_operators", file=files.get("hwts", ""), count=hwts.height - scheduling.height)
    notes.add("hwts_tasks_without_operator", file=files.get("hwts", ""), count=scheduling.height)
    described = _described(tasks, framework, notes, files.get("framework", ""))
    streams = pl.concat([tasks["stream"], scheduling["stream"]]).unique(maintain_order=True)
    tracks = {stream: parts.tracks.track("stream", f"Stream {stream}", device, str(stream)) for stream in streams}
    track = pl.col("stream").replace_strict(tracks, default=None, return_dtype=pl.Int32).alias("track")
    if described.height:
        parts.add(
            described.with_columns(track, kind=pl.lit("kernel"), operator="name"),
            files.get("tasks", files.get("hwts", "")),
        )
    if scheduling.height:
        name = pl.lit("task ") + pl.col("stream").cast(pl.String) + pl.lit("_") + pl.col("task").cast(pl.String)
        parts.add(scheduling.with_columns(track, name.alias("name"), kind=pl.lit("sync")).drop("task"), files["hwts"])


def _described(tasks: pl.DataFrame, framework: pl.DataFrame, notes: Notes, file: str) -> pl.DataFrame:
    """Tasks with what the framework says of their operator, by full name, or else what the name itself says."""
    names = tasks.select(pl.col("name").unique(maintain_order=True))
    by_name = framework.unique("name", keep="first", maintain_order=True).select("name", *DESCRIPTION)
    known = names.join(by_name, on="name", how="left", maintain_order="left").with_columns(
        type=pl.coalesce("type", pl.col("name").str.extract(r"([^/]+)-op\d+$")),
        core=pl.coalesce("core", pl.lit("AI_CORE")),
        module=module("name"),
        phase=phase("name"),
    )
    unused = framework.join(names, on="name", how="anti").height
    notes.add("operator_facts_unused", file=file, count=unused)
    return tasks.join(known, on="name", how="left", maintain_order="left")


def read_aicpu(path: Path, reported: Reported, reading: Reading) -> Table | None:
    """``aicpu_intermediate``, or the older ``output_data_preprocess_aicpu`` with the same columns less one."""
    if path.name.startswith("aicpu"):
        return read_csv(path, reading)
    table = Table([], [])
    for piece in lines(path, reading):
        rows = piece.str.extract_groups(_AICPU_OLD).struct.unnest().drop_nulls()
        totals = piece.str.extract(_AICPU_TOTAL, 1).drop_nulls()
        for value in totals:
            reported.add(path.name, "AI CPU", "Total Time(ms)", value)
        table.header = rows.columns
        table.rows += [list(row) for row in rows.iter_rows()]
        headings = int(piece.str.starts_with("serial_number").sum())
        dropped = len(piece) - rows.height - len(totals) - headings
        reading.notes.add("mindspore_rows_dropped", file=path.name, place="line", count=dropped)
    return table


def add_aicpu(table: Table, file: str, parts: SliceParts, notes: Notes, device: str) -> list[int]:
    """Slices of AI CPU kernels; returns their starts. The vendor's own times (with dispatch, in ms) are details."""
    cells = {name: table.cells(name) for name in ("kernel_type", "run_start", "run_end")}
    kinds, starts, ends = cells["kernel_type"] or table.cells("node_type_name", "op_type"), *list(cells.values())[1:]
    if kinds is None or starts is None or ends is None:
        notes.add("mindspore_columns_missing", file=file, columns="kernel_type, run_start, run_end")
        return []
    start = scaled_column(pl.Series(starts, dtype=pl.String), US)
    end = scaled_column(pl.Series(ends, dtype=pl.String), US)
    details = [_details(table, row) for row in table.rows]
    parts.add(
        pl.DataFrame({"name": kinds, "start_ns": start, "dur_ns": end - start, "json": details}).with_columns(
            track=pl.lit(parts.tracks.track("stream", "AI CPU", device, "AI CPU")),
            kind=pl.lit("kernel"),
            core=pl.lit("AI_CPU"),
            type=pl.col("name").str.split("-").list.first(),
            phase=phase("name"),
        ),
        file,
    )
    return start.drop_nulls().to_list()


def same_runs(one: Table, other: Table) -> int:
    """How many rows of the one are also in the other, by kernel and times."""
    keys = ("kernel_type", "run_start", "run_end")

    def runs(table: Table) -> list[tuple[str, ...]]:
        columns = [table.cells(key) or [""] * len(table.rows) for key in keys]
        return list(zip(*columns, strict=True))

    known = set(runs(one))
    return sum(run in known for run in runs(other))


def _details(table: Table, row: list[str]) -> str:
    return json.dumps(dict(zip(table.header, row, strict=True)))
