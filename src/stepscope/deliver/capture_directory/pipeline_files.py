"""``minddata_pipeline_raw/summary``: the input pipeline, its queues and what they tell, by MindSpore's rules."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from stepscope.deliver.capture_directory.pipeline_advice import advice
from stepscope.deliver.capture_directory.pipeline_recording import (
    NOT_APPLICABLE,
    PipelineOperator,
    PipelineRecording,
)
from stepscope.layout import columns


def pipeline_raw(recording: PipelineRecording) -> list[list[Any]]:
    """Header and rows: breadth first from the operator that feeds the training, past those without a queue."""
    return [list(columns.MINDDATA_PIPELINE_RAW), *_raw_rows(recording)]


def _raw_rows(recording: PipelineRecording) -> Iterator[list[Any]]:
    by_number = {operator.op: operator for operator in recording.operators}
    waiting: deque[tuple[int, int | None]] = deque([(0, None)] if 0 in by_number else [])
    while waiting:
        op, parent = waiting.popleft()
        operator = by_number[op]
        children = _queued_below(operator, by_number) if recording.works_inline else operator.children
        waiting.extend((child, op) for child in children)
        average = _average(operator)
        yield [
            op,
            operator.kind,
            operator.workers,
            operator.fill,
            average,
            operator.capacity,
            None if average is None or not operator.capacity else average / operator.capacity,
            recording.interval_ms,
            parent,
            children or None,
        ]


def _queued_below(operator: PipelineOperator, by_number: dict[int, PipelineOperator]) -> list[int]:
    """The nearest operators below that have a queue."""
    found, waiting = [], deque(operator.children)
    while waiting:
        child = by_number.get(waiting.popleft())
        if child is not None and child.fill is None:
            waiting.extend(child.children)
        elif child is not None:
            found.append(child.op)
    return found


def _average(operator: PipelineOperator) -> float | None:
    return sum(operator.fill) / len(operator.fill) if operator.fill else None


def pipeline_summary(recording: PipelineRecording) -> dict[str, list[Any]]:
    """Keys of the documented summary; −1 is what does not apply."""
    operators = recording.operators
    parents = {child: operator.op for operator in operators for child in operator.children}
    content: dict[str, list[Any]] = {
        "op_ids": [operator.op for operator in operators],
        "op_names": [operator.name for operator in operators],
        "pipeline_ops": [f"{operator.name}(id={operator.op})" for operator in operators],
        "num_workers": [operator.workers for operator in operators],
        "queue_average_size": [_shown_average(operator) for operator in operators],
        "queue_utilization_pct": [_use_pct(operator) for operator in operators],
        "queue_empty_freq_pct": [_empty_pct(operator) for operator in operators],
        "children_ids": [operator.children for operator in operators],
        "parent_id": [parents.get(operator.op, NOT_APPLICABLE) for operator in operators],
        "avg_cpu_pct": list(recording.cpu_pct),
        **{
            f"per_{name}_time": [round(recording.batch_ms.get(name, NOT_APPLICABLE), 3)]
            for name in ("pipeline", "push_queue", "batch")
        },
    }
    if len(recording.cpu_pct) == len(operators):
        content["avg_cpu_pct_per_worker"] = [
            round(cpu / (operator.workers or 1) if operator.workers and cpu >= 0 else NOT_APPLICABLE, 2)
            for cpu, operator in zip(recording.cpu_pct, operators, strict=True)
        ]
        content |= advice(content)
    return content


def _shown_average(operator: PipelineOperator) -> float:
    average = _average(operator)
    return NOT_APPLICABLE if average is None else round(average, 2)


def _use_pct(operator: PipelineOperator) -> float:
    average = _shown_average(operator)
    return round(100 * average / operator.capacity, 2) if operator.fill and operator.capacity else NOT_APPLICABLE


def _empty_pct(operator: PipelineOperator) -> float:
    return round(100 * operator.fill.count(0) / len(operator.fill), 2) if operator.fill else NOT_APPLICABLE
