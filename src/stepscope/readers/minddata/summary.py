"""What MindSpore itself says about the pipeline: ``minddata_pipeline_summary`` (JSON or CSV) and ``dataset.csv``.

Its numbers go to ``reported``, its advice to the notes, in its own words.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, Final

from stepscope.readers.files.numbers import number
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.repair import clean_text
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import read_bytes, read_csv, read_json, without_open_line
from stepscope.store.notes import Notes

_NAMES: Final = "pipeline_ops"
_IDS: Final = ("op_ids", "op_names", "pipeline_ops", "children_ids")  # said by the stages themselves
_WHOLE_PIPELINE: Final = ("per_pipeline_time", "per_push_queue_time", "per_batch_time")
_ADVICE: Final = ("cpu_analysis_details", "queue_analysis_details", "bottleneck_warning", "bottleneck_suggestion")
_NOT_APPLICABLE: Final = -1.0
_DATASET_TEXTS: Final = ("Stage", "Custom Info")


def read_summary(path: Path, reading: Reading) -> dict[str, list[Any]]:
    """The JSON form: keys with lists."""
    content = read_json(path, reading)
    if not isinstance(content, dict):
        if content is not None:
            reading.notes.add("mindspore_file_damaged", file=path.name)
        return {}
    return {str(key): value for key, value in content.items() if isinstance(value, list)}


def read_summary_csv(path: Path, reading: Reading) -> dict[str, list[Any]]:
    """The CSV form: one key per row, its values in the following cells."""
    content = read_bytes(path, reading)
    by_key: dict[str, list[Any]] = {}
    text = without_open_line(content.decode("utf-8", "replace").replace("\0", ""), path, reading.notes)
    rows = csv.reader(io.StringIO(text, newline=""))
    try:
        for row in rows:
            if row:
                by_key[row[0].strip()] = [_cell(cell) for cell in row[1:]]
    except csv.Error:
        reading.notes.add("mindspore_rows_dropped", file=path.name, place=f"line {rows.line_num}")
    return by_key


def write_summary(by_key: dict[str, list[Any]], file: str, reported: Reported, notes: Notes) -> None:
    """Numbers per stage, and for the whole pipeline; advice as notes."""
    names = [clean_text(str(name)) for name in by_key.get(_NAMES, [])]
    bad = 0
    for key, values in by_key.items():
        if key in _ADVICE:
            for text in values:
                notes.add("pipeline_advice", file=file, subject=key, advice=clean_text(str(text))[:500])
        elif key not in _IDS:
            for index, value in enumerate(values):
                label = "pipeline" if key in _WHOLE_PIPELINE else names[index] if index < len(names) else str(index)
                if number(value) != _NOT_APPLICABLE:
                    bad += not reported.add(file, label, key, value)
    notes.add("mindspore_cells_not_numbers", file=file, count=bad)


def note_disagreement(one: dict[str, list[Any]], other: dict[str, list[Any]], file: str, notes: Notes) -> None:
    """Count the keys in which the two forms differ."""
    differing = [key for key in one.keys() | other.keys() if _plain(one.get(key)) != _plain(other.get(key))]
    notes.add("pipeline_files_disagree", file=file, count=len(differing))


def read_dataset_table(path: Path, reported: Reported, reading: Reading) -> None:
    """``dataset.csv``: how often and how long each operation of the pipeline ran."""
    table = read_csv(path, reading)
    if table is None:
        return
    stage = table.column("Stage")
    operation = table.column("Operation")
    if operation is not None and stage is not None:
        for row in table.rows:
            row[operation] = f"{row[operation]} {row[stage]}".strip()
    reported.add_table(path.name, table, ("Operation",), reading.notes, _DATASET_TEXTS)


def _cell(cell: str) -> Any:
    cell = cell.strip()
    if cell.startswith("["):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def _plain(values: list[Any] | None) -> list[Any]:
    return [parsed if (parsed := number(value)) is not None else str(value) for value in values or []]
