"""The documented files of a capture directory, from the store: no formula exists twice.

Every file that the switches ask for and the data can truly fill is written; what no source carries is not, and
``stepscope.json`` says why.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from stepscope.deliver.capture_directory.communication_calls import communication_calls
from stepscope.deliver.capture_directory.communication_database import write_communication_database
from stepscope.deliver.capture_directory.communication_files import communication
from stepscope.deliver.capture_directory.communication_matrix import communication_matrix
from stepscope.deliver.capture_directory.database import write_database
from stepscope.deliver.capture_directory.dataset_file import dataset
from stepscope.deliver.capture_directory.files_not_written import files_not_written, state
from stepscope.deliver.capture_directory.kernel_details import kernel_details
from stepscope.deliver.capture_directory.memory_files import memory_record, operator_memory
from stepscope.deliver.capture_directory.pipeline_files import pipeline_raw, pipeline_summary
from stepscope.deliver.capture_directory.pipeline_recording import pipeline_recording
from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.deliver.capture_directory.statistic_files import api_statistic, op_statistic, operator_details
from stepscope.deliver.capture_directory.step_trace_time import step_trace_time
from stepscope.deliver.capture_directory.trace_view import write_trace_view
from stepscope.layout import names
from stepscope.store.run_store import RunStore

_TABLES: dict[str, Callable[[RankData], pl.DataFrame | None]] = {
    "kernel_details.csv": kernel_details,
    "step_trace_time.csv": step_trace_time,
    "op_statistic.csv": op_statistic,
    "api_statistic.csv": api_statistic,
    "operator_details.csv": operator_details,
    "memory_record.csv": memory_record,
    "operator_memory.csv": operator_memory,
    "dataset.csv": dataset,
}
_DOCUMENTS: dict[str, Callable[[RankData], dict[str, Any] | None]] = {
    "communication.json": lambda data: communication(communication_calls(data)),
    "communication_matrix.json": lambda data: communication_matrix(communication_calls(data), data.backend),
}


def deliver(store: RunStore, rank: int, directory: Path, *, steps: Sequence[int] | None = None) -> list[Path]:
    """Write the documented files of a rank into its capture directory; what was written."""
    data = RankData(store, rank, steps)
    out = directory / names.OUTPUT_FOLDER
    out.mkdir(parents=True, exist_ok=True)
    wanted = data.switches.get("export_type") or ["text"]
    written: list[Path] = []
    if "text" in wanted:
        written += _deliver_text(data, out)
    if "db" in wanted:
        file = out / names.database_file(data.backend, rank)
        written.append(_written_whole(file, partial(write_database, data)))
        beside = out / names.communication_database_file(data.backend)
        written.append(_written_whole(beside, partial(write_communication_database, data)))
    state(directory, files_not_written(data, {path.name for path in written}))
    return written


def _deliver_text(data: RankData, out: Path) -> list[Path]:
    written = []
    for pattern, make in _TABLES.items():
        frame = make(data)
        if frame is not None:
            written.append(_written_whole(out / pattern.format(rank=data.rank), frame.write_csv))
    for pattern, compose in _DOCUMENTS.items():
        document = compose(data)
        if document is not None:
            written.append(_written_whole(out / pattern.format(rank=data.rank), partial(_dump, document)))
    recording = pipeline_recording(data)
    if recording is not None:
        summary = pipeline_summary(recording)
        name = f"minddata_pipeline_summary_{data.rank}"
        raw = out / f"minddata_pipeline_raw_{data.rank}.csv"
        written.append(_written_whole(raw, partial(_dump_rows, pipeline_raw(recording))))
        written.append(_written_whole(out / f"{name}.json", partial(_dump, summary)))
        rows = [[key, *values] for key, values in summary.items()]
        written.append(_written_whole(out / f"{name}.csv", partial(_dump_rows, rows)))
    written.append(_written_whole(out / "trace_view.json", partial(write_trace_view, data)))
    return written


def _written_whole(final: Path, write: Callable[[Path], Any]) -> Path:
    """Nothing appears under its name before it is whole."""
    draft = final.with_name(f".{final.name}.part")
    try:
        write(draft)
        draft.replace(final)
    finally:
        draft.unlink(missing_ok=True)
    return final


def _dump(document: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")


def _dump_rows(rows: list[list[Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
