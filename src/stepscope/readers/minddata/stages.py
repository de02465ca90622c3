"""Stages of the input pipeline and the fill of their queues: ``pipeline_profiling`` and ``minddata_pipeline_raw``."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.readers.files.json_values import as_list
from stepscope.readers.files.numbers import integer, number
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.repair import clean_text
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import Table, read_csv, read_json
from stepscope.readers.slices.track_numbers import TrackNumbers
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

_SINKS: Final = ("DeviceQueue", "DataQueue")
_DEFAULT_INTERVAL_MS: Final = 1000
_TEXT_COLUMNS: Final = ("op_id", "op_type", "output_queue_size", "children_id")
#: Number of the stage that stands for the device's own queue, where the pipeline names none.
DEVICE_QUEUE: Final = -1


@dataclass
class Stage:
    """One stage; ``fill`` are the samples of its output queue."""

    op: int
    kind: str
    workers: int | None = None
    parent: int | None = None
    capacity: int | None = None
    fill: list[Any] = field(default_factory=list)
    throughput: list[Any] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.kind}(id={self.op})"

    @property
    def is_sink(self) -> bool:
        return self.kind in _SINKS


@dataclass
class Pipeline:
    """All stages, and how often their queues were looked at."""

    stages: list[Stage]
    interval_ms: float

    @property
    def sink(self) -> int:
        return next((stage.op for stage in self.stages if stage.is_sink), DEVICE_QUEUE)


def read_stages(path: Path, reading: Reading) -> Pipeline | None:
    """The pipeline as ``pipeline_profiling`` describes it."""
    content = read_json(path, reading)
    if content is None:
        return None
    listed = content.get("op_info") if isinstance(content, dict) else None
    if not isinstance(listed, list):
        reading.notes.add("mindspore_file_damaged", file=path.name)
        return None
    stages = [stage for item in listed if (stage := _stage(item)) is not None]
    reading.notes.add("mindspore_rows_dropped", file=path.name, place="op_info", count=len(listed) - len(stages))
    parents = _parents(listed)
    for stage in stages:
        stage.parent = parents.get(stage.op)
    return Pipeline(stages, number(content.get("sampling_interval")) or _DEFAULT_INTERVAL_MS)


def read_stages_csv(path: Path, reported: Reported, reading: Reading) -> Pipeline | None:
    """The pipeline as MindSpore's own analysis lists it: stages without a queue of their own are left out there."""
    table = read_csv(path, reading)
    if table is None:
        return None
    stages = [stage for row in table.rows if (stage := _stage_of_row(table, row)) is not None]
    reading.notes.add("mindspore_rows_dropped", file=path.name, place="op_id", count=len(table.rows) - len(stages))
    for stage, row in zip(stages, table.rows, strict=False):
        for metric, cell in zip(table.header, row, strict=True):
            if metric not in _TEXT_COLUMNS and cell:
                reported.add(path.name, stage.name, metric, cell)
    interval = next(
        (milliseconds for cell in table.cells("sample_interval") or [] if (milliseconds := number(cell))), None
    )
    return Pipeline(stages, interval or _DEFAULT_INTERVAL_MS)


def note_disagreement(written: Pipeline, listed: Pipeline, file: str, notes: Notes) -> None:
    """Count the stages of the list that the pipeline's own file describes otherwise."""
    known = {stage.op: stage for stage in written.stages}
    differing = [
        stage
        for stage in listed.stages
        if (own := known.get(stage.op)) is None or own.kind != stage.kind or own.fill != stage.fill
    ]
    notes.add("pipeline_files_disagree", file=file, count=len(differing))


def write_pipeline(
    pipeline: Pipeline, times_ms: list[int], out: RankWriter, notes: Notes, track_numbers: TrackNumbers, file: str
) -> None:
    """Tables ``pipeline_ops`` and ``pipeline_samples``; throughput, which old files have, as counters.

    ``times_ms`` are the moments at which the CPU sampler looked; it looks at the queues in the same round.
    """
    out.add("pipeline_ops", pl.DataFrame([_row(stage) for stage in pipeline.stages], infer_schema_length=None))
    untimed = 0
    for stage in pipeline.stages:
        times = _times_ns(len(stage.fill), times_ms, pipeline.interval_ms)
        untimed += len(stage.fill) if len(stage.fill) != len(times_ms) else 0
        fill = pl.Series([integer(value, 1 << 62) for value in stage.fill], dtype=pl.Int64)
        samples = pl.DataFrame({"op": [stage.op] * len(times), "time_ns": times, "queue": fill})
        good = samples.drop_nulls("queue")
        notes.add("mindspore_cells_not_numbers", file=file, count=samples.height - good.height)
        out.add("pipeline_samples", good)
        _write_throughput(stage, pipeline, times_ms, out, notes, track_numbers, file)
    notes.add("pipeline_samples_without_time", file=file, count=untimed)


def _write_throughput(
    stage: Stage,
    pipeline: Pipeline,
    times_ms: list[int],
    out: RankWriter,
    notes: Notes,
    track_numbers: TrackNumbers,
    file: str,
) -> None:
    if not stage.throughput:
        return
    track = track_numbers.track("counter", f"{stage.name} throughput", "data pipeline")
    times = _times_ns(len(stage.throughput), times_ms, pipeline.interval_ms)
    values = [number(value) for value in stage.throughput]
    rows = pl.DataFrame({"track": [track] * len(times), "time_ns": times, "value": pl.Series(values, dtype=pl.Float64)})
    good = rows.filter(pl.col("value").is_not_null())
    notes.add("mindspore_cells_not_numbers", file=file, count=rows.height - good.height)
    out.add("counters", good)


def _times_ns(count: int, times_ms: list[int], interval_ms: float) -> list[int]:
    if count == len(times_ms):
        return [time * 10**6 for time in times_ms]
    step = min(max(round(interval_ms * 10**6), 0), 10**15)
    return [index * step for index in range(count)]


def _stage(item: Any) -> Stage | None:
    if not isinstance(item, dict) or (op := integer(item.get("op_id"))) is None:
        return None
    metrics = item.get("metrics")
    queue = metrics.get("output_queue") if isinstance(metrics, dict) else None
    queue = queue if isinstance(queue, dict) else {}
    return Stage(
        op,
        clean_text(str(item.get("op_type") or "Unknown")).removesuffix("Op"),
        integer(item.get("num_workers")),
        None,
        integer(queue.get("length"), 1 << 62),
        as_list(queue.get("size")),
        as_list(queue.get("throughput")),
    )


def _stage_of_row(table: Table, row: list[str]) -> Stage | None:
    cells = dict(zip(table.header, row, strict=True))
    op = integer(cells.get("op_id"))
    if op is None:
        return None
    return Stage(
        op,
        clean_text(cells.get("op_type") or "Unknown").removesuffix("Op"),
        integer(cells.get("num_workers")),
        integer(cells.get("parent_id")),
        integer(cells.get("output_queue_length"), 1 << 62),
        _list_in_text(cells.get("output_queue_size", "")),
    )


def _parents(listed: list[Any]) -> dict[int, int]:
    parents: dict[int, int] = {}
    for item in listed:
        if isinstance(item, dict) and (op := integer(item.get("op_id"))) is not None:
            for child in as_list(item.get("children")):
                if (number_of_child := integer(child)) is not None:
                    parents.setdefault(number_of_child, op)
    return parents


def _row(stage: Stage) -> dict[str, Any]:
    return {
        "op": stage.op,
        "name": stage.name,
        "kind": stage.kind,
        "parent": stage.parent,
        "workers": stage.workers,
        "capacity": stage.capacity,
        "sink": stage.is_sink,
    }


def _list_in_text(text: str) -> list[Any]:
    try:
        return as_list(json.loads(text))
    except (ValueError, RecursionError):
        return []
