"""Time per step of operators whose shapes change: ``dynamic_shape_info``.

On a GPU: ``operator`` and ``kernel`` list executions by step, ``operator_type`` and ``kernel_type`` their sums as
``[total, count, average]``, all in us. On Ascend (built from documentation, not from a sample): ``op_type`` has an
average per step and type, and each type a list of operators with a time and a shape per step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from stepscope.readers.files.numbers import integer
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import read_json
from stepscope.store.notes import Notes

_EXECUTIONS: Final = ("operator", "kernel")
_SUMS: Final = ("operator_type", "kernel_type")
_SUM_METRICS: Final = ("total", "count", "avg")
_GEOMETRY: Final = ("block_dim", "grid_dim")


def read_dynamic_shapes(path: Path, reported: Reported, reading: Reading) -> None:
    """Everything to ``reported``; the shapes of an execution are part of its key."""
    content = read_json(path, reading)
    if not isinstance(content, dict):
        reading.notes.add("mindspore_file_damaged", file=path.name, count=int(content is not None))
        return
    if "op_type" in content:
        _report_ascend(content, path.name, reported, reading.notes)
        return
    for section in _EXECUTIONS:
        for step, runs in _steps(content.get(section), path.name, reading.notes):
            for run in runs if isinstance(runs, list) else [None]:
                if not isinstance(run, dict) or not _report_run(section, step, run, path.name, reported):
                    reading.notes.add("mindspore_rows_dropped", file=path.name, place=f"{section} of step {step}")
    for section in _SUMS:
        for step, sums in _steps(content.get(section), path.name, reading.notes):
            for name, values in sums.items() if isinstance(sums, dict) else ():
                for metric, value in zip(_SUM_METRICS, values if isinstance(values, list) else [], strict=False):
                    reported.add(path.name, name, f"{section}.{metric}", value, step)


def _report_run(section: str, step: int, run: dict[str, Any], file: str, reported: Reported) -> bool:
    shapes = run.get("shape_info")
    key = str(run.get("op_name", ""))
    if isinstance(shapes, list) and shapes:
        key = f"{key} {' '.join(str(shape) for shape in shapes)}"
    for metric in _GEOMETRY:
        for axis, size in zip("xyz", str(run.get(metric, "")).split(","), strict=False):
            reported.add(file, key, f"{section}.{metric}.{axis}", size, step)
    return reported.add(file, key, f"{section}.dur", run.get("dur"), step)


def _report_ascend(content: dict[str, Any], file: str, reported: Reported, notes: Notes) -> None:
    types = content["op_type"] if isinstance(content["op_type"], dict) else {}
    for name, averages in types.items():
        for step, value in enumerate(averages if isinstance(averages, list) else [], start=1):
            reported.add(file, str(name), "op_type", value, step)
    for name, operators in content.items():
        if name == "op_type":
            continue
        for operator in operators if isinstance(operators, list) else []:
            for label, own in operator.items() if isinstance(operator, dict) else ():
                if not isinstance(own, dict) or not isinstance(own.get("op_exe_time"), list):
                    notes.add("mindspore_rows_dropped", file=file, place=str(label)[:60])
                    continue
                shapes = own["op_shape"] if isinstance(own.get("op_shape"), list) else []
                for index, value in enumerate(own["op_exe_time"]):
                    key = f"{label} {shapes[index]}" if index < len(shapes) else str(label)
                    reported.add(file, key, "op_exe_time", value, index + 1)


def _steps(section: Any, file: str, notes: Notes) -> list[tuple[int, Any]]:
    pairs = section.items() if isinstance(section, dict) else ()
    numbered = [(step, value) for key, value in pairs if (step := integer(key, 1 << 62)) is not None]
    notes.add(
        "mindspore_rows_dropped", file=file, place="steps without a number", count=len(list(pairs)) - len(numbered)
    )
    return numbered
