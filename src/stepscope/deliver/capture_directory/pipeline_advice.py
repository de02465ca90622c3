"""The conclusions of ``minddata_pipeline_summary``, by the rules and limits of MindSpore's own analysis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stepscope.deliver.capture_directory.pipeline_recording import NOT_APPLICABLE
from stepscope.facts.pipeline import pipeline_facts
from stepscope.texts import text


def advice(summary: dict[str, list[Any]]) -> dict[str, list[str]]:
    """Remarks on processors and queues, and the bottleneck; a key without content is left out."""
    operators = _operators(summary)
    content = {
        "cpu_analysis_details": list(_remarks_on_processors(operators)),
        "queue_analysis_details": list(_remarks_on_queues(operators)),
    }
    bottleneck = _bottleneck(operators)
    if bottleneck is not None:
        content |= {"bottleneck_warning": [bottleneck[0].label], "bottleneck_suggestion": [bottleneck[1]]}
    return {name: remarks for name, remarks in content.items() if remarks}


@dataclass
class _Operator:
    """One operator as the rules see it; ``feeds_from`` is the nearest below that has a queue."""

    name: str
    label: str
    workers: int
    cpu_pct: float
    use_pct: float
    empty_pct: float
    feeds_from: _Operator | None = None

    @property
    def is_judged(self) -> bool:
        return self.name not in pipeline_facts().minddata_files.single_threaded

    @property
    def has_queue(self) -> bool:
        return self.use_pct != NOT_APPLICABLE

    def says(self, key: str, **values: Any) -> str:
        shown = {"cpu": self.cpu_pct, "workers": self.workers, "operator": self.label}
        return text(f"delivered.{key}", "en", **shown, **values)


def _operators(summary: dict[str, list[Any]]) -> list[_Operator]:
    columns = ("op_names", "pipeline_ops", "num_workers", "avg_cpu_pct_per_worker", "queue_utilization_pct")
    rows = zip(*(summary[name] for name in (*columns, "queue_empty_freq_pct")), strict=True)
    of_number = {op: _Operator(*row) for op, row in zip(summary["op_ids"], rows, strict=True)}
    children = dict(zip(summary["op_ids"], summary["children_ids"], strict=True))
    for op, operator in of_number.items():
        below = op
        # Of several inputs only the first counts, as in MindSpore.
        while children.get(below):
            below = children[below][0]
            if below not in of_number or of_number[below].has_queue:
                operator.feeds_from = of_number.get(below)
                break
    return list(of_number.values())


def _remarks_on_processors(operators: list[_Operator]) -> Iterator[str]:
    limits = pipeline_facts().minddata_files
    for operator in operators:
        if operator.is_judged and operator.cpu_pct > limits.busy_worker_pct:
            yield operator.says("busy_workers")
        elif operator.is_judged and operator.cpu_pct < limits.idle_worker_pct and operator.workers > 1:
            yield operator.says("idle_workers")


def _remarks_on_queues(operators: list[_Operator]) -> Iterator[str]:
    limits = pipeline_facts().minddata_files
    for operator in operators:
        if not operator.is_judged or operator.name == "Batch":
            continue
        source = operator.feeds_from
        if source is None:
            if operator.has_queue and operator.use_pct <= limits.little_used_leaf_pct:
                yield operator.says("leaf_queue", fill=operator.use_pct)
        elif operator.name == "DeviceQueue":
            if source.empty_pct > limits.empty_device_input_pct:
                yield operator.says("device_queue", empty=source.empty_pct)
        elif operator.has_queue and source.use_pct - operator.use_pct > limits.fuller_than_other_side_pct:
            values = {"input": source.use_pct, "output": operator.use_pct, "child": source.label}
            yield operator.says("inner_queue", **values)


def _bottleneck(operators: list[_Operator]) -> tuple[_Operator, str] | None:
    """The operator nearest to the training that is a bottleneck, and what to do."""
    limits = pipeline_facts().minddata_files
    for operator in operators:
        if not operator.is_judged or operator.name == "DeviceQueue":
            continue
        source = operator.feeds_from
        if operator.cpu_pct > limits.busy_worker_pct:
            return operator, operator.says("busy_workers")
        if (
            operator.cpu_pct < limits.idle_worker_pct
            and source is not None
            and (
                source.use_pct < limits.nearly_empty_input_pct
                or operator.use_pct - source.use_pct > limits.fuller_than_other_side_pct
            )
        ):
            return operator, operator.says("odd_queues")
    return None
