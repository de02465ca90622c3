"""What was recorded of an input pipeline, for the files that show it: MindSpore's own samples, or ours of a loader."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.layout.names import FRAMEWORK_FOLDER

NOT_APPLICABLE = -1


@dataclass(frozen=True)
class PipelineOperator:
    """One operator. ``fill`` are the samples of its output queue, None where it has none."""

    op: int
    kind: str
    name: str
    workers: int | None
    children: list[int]
    fill: list[int] | None
    capacity: int | None


@dataclass(frozen=True)
class PipelineRecording:
    """The operators in order of their numbers, and what else the files tell."""

    operators: list[PipelineOperator]
    interval_ms: float | None
    cpu_pct: list[float]  # of one core, by operator; -1 where it was not looked at
    batch_ms: dict[str, float] = field(default_factory=dict)  # pipeline, push_queue, batch: means without the first
    works_inline: bool = True  # an operator without a queue works in its parent; a loader's stage stands for itself


def pipeline_recording(data: RankData) -> PipelineRecording | None:
    """The pipeline of a rank, None where none was recorded."""
    return _of_mindspore(data) if data.backend == "mindspore" else _of_loaders(data)


def _of_mindspore(data: RankData) -> PipelineRecording | None:
    """As MindSpore's data engine wrote it, to which the documented files refer sample by sample."""
    folder = Path(str(data.about.get("source") or "")) / FRAMEWORK_FOLDER
    pipeline = _json(folder / f"pipeline_profiling_{data.rank}.json")
    listed = [one for one in pipeline.get("op_info") or [] if isinstance(one, dict) and "op_id" in one]
    if not listed:
        return None
    operators = []
    for one in sorted(listed, key=lambda one: int(one["op_id"])):
        queue = (one.get("metrics") or {}).get("output_queue") or {}
        kind = str(one.get("op_type") or "")
        operators.append(
            PipelineOperator(
                int(one["op_id"]),
                kind,
                kind.removesuffix("Op"),
                one.get("num_workers"),
                list(one.get("children") or []),
                list(queue["size"]) if queue.get("size") else None,
                queue.get("length"),
            )
        )
    processors = _json(folder / f"minddata_cpu_utilization_{data.rank}.json")
    return PipelineRecording(
        operators, pipeline.get("sampling_interval"), _cpu_pct(processors), _batch_ms(folder, data.rank)
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _cpu_pct(processors: dict[str, Any]) -> list[float]:
    of_operator = {}
    for one in processors.get("op_info") or []:
        if isinstance(one, dict) and one.get("op_id", NOT_APPLICABLE) != NOT_APPLICABLE:
            metrics = one.get("metrics") or {}
            both = zip(metrics.get("sys_utilization", []), metrics.get("user_utilization", []), strict=False)
            sums = [system + user for system, user in both]
            of_operator[int(one["op_id"])] = round(sum(sums) / len(sums), 2) if sums else 0.0
    return [of_operator.get(op, float(NOT_APPLICABLE)) for op in range(len(of_operator))]


def _batch_ms(folder: Path, rank: int) -> dict[str, float]:
    """Means over the batches but the first. Where the training takes its batches itself, MindSpore counts the time from
    one to the next among those of a whole batch, and so do we; only not the time since the machine's start, with which
    it begins in a window that opens behind the first batch."""
    sink, feed = (folder / f"{name}_profiling_{rank}.txt" for name in ("device_queue", "dataset_iterator"))
    fed = not sink.exists()
    try:
        lines = (feed if fed else sink).read_text("utf-8", "replace").splitlines()
    except OSError:
        return {}
    spent: dict[int, list[int]] = {0: [], 1: [], 2: []}
    before: int | None = None
    for line in lines:
        numbers = [int(word) for word in line.split() if word.lstrip("-").isdecimal()]
        if len(numbers) < 5:
            continue
        kind, part, batch, value, moment = numbers[:5]
        if batch < 2:
            before = moment
        elif kind == 0 and part in spent:
            spent[part].append(value)
        elif kind == 1 and fed:
            if before is not None:
                spent[2].append(moment - before)
            before = moment
    names = ("pipeline", "push_queue", "batch")
    return {name: sum(times) / len(times) for name, times in zip(names, spent.values(), strict=True) if times}


def _of_loaders(data: RankData) -> PipelineRecording | None:
    """Loaders of PyTorch, from our own samples."""
    rows = data.store.scan("pipeline_ops", [data.rank]).sort("op").collect()
    if rows.is_empty():
        return None
    samples = data.store.scan("pipeline_samples", [data.rank]).sort("op", "time_ns").collect()
    fill = {op: group["queue"].drop_nulls().to_list() for (op,), group in samples.group_by(["op"], maintain_order=True)}
    busy = _core_shares(data)
    operators = [
        PipelineOperator(
            row["op"],
            str(row["kind"] or row["name"]),
            str(row["name"]),
            row["workers"] or 1,
            rows.filter(pl.col("parent") == row["op"])["op"].to_list(),
            [int(value) for value in fill[row["op"]]] if fill.get(row["op"]) else None,
            row["capacity"],
        )
        for row in rows.iter_rows(named=True)
    ]
    cpu = [round(busy[one.op] * 100, 2) if one.op in busy else float(NOT_APPLICABLE) for one in operators]
    batches = data.store.scan("pipeline_batches", [data.rank]).sort("batch").collect().slice(1)
    columns = {"pipeline": "get_us", "push_queue": "push_us", "batch": "total_us"}
    means = {name: batches[column].drop_nulls().mean() for name, column in columns.items()}
    spent = {name: float(mean) / 1000 for name, mean in means.items() if isinstance(mean, (int, float))}
    return PipelineRecording(operators, _median_gap_ms(samples), cpu, spent, works_inline=False)


def _median_gap_ms(samples: pl.DataFrame) -> float | None:
    gap = samples.select(pl.col("time_ns").diff().over("op").median()).item() if len(samples) else None
    return None if gap is None else round(float(gap) / 1e6, 3)


def _core_shares(data: RankData) -> dict[int, float]:
    """Cores in use by each operator."""
    rows = data.store.scan("cpu", [data.rank]).filter(pl.col("scope").cast(pl.String) == "op")
    busy = rows.group_by("id").agg((pl.col("user") + pl.col("system")).mean().alias("busy")).drop_nulls().collect()
    return {int(op): float(cores) for op, cores in busy.iter_rows()}
