"""PyTorch data loaders: stages and queues as tables of the pipeline, and each stage's work as slices.

A loader is four stages, each feeding the next: Dataset, Collate (whose output is the queue of ready batches), PinMemory
where there is one, and DataLoader, which is the training loop taking a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.layout import names
from stepscope.readers.files.reading import Reading
from stepscope.readers.slices.slice_parts import SliceParts
from stepscope.readers.slices.steps import Steps
from stepscope.readers.stepscope_capture.line_files import read_lines
from stepscope.readers.trace_json.event_columns import nullable
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

_LOADERS: Final = {
    "loader": pl.Int64,
    "workers": pl.Int64,
    "capacity": pl.Int64,
    "pin_memory": pl.Boolean,
    "dataset": pl.String,
    "kind": pl.String,
}
_BATCHES: Final = dict.fromkeys(("loader", "batch", "start_ns", "end_ns", "queue"), pl.Int64)
_STAGES: Final = {"stage": pl.String} | dict.fromkeys(("start_ns", "end_ns", "pid", "worker", "samples"), pl.Int64)
_KINDS: Final = {"dataset": "Dataset", "collate": "Collate", "pin_memory": "PinMemory"}
_PROCESS: Final = "DataLoader"


@dataclass
class DataLoaders:
    """What the three files hold."""

    loaders: pl.DataFrame
    batches: pl.DataFrame
    stages: pl.DataFrame

    def write(self, steps: Steps, parts: SliceParts, out: RankWriter, notes: Notes) -> None:
        """Fill the tables of the pipeline and add the slices."""
        ops = self._ops()
        out.add("pipeline_ops", pl.DataFrame(ops, infer_schema_length=None).drop("loader", strict=False))
        self._write_batches(steps, ops, out, notes)
        self._add_slices(parts)

    def _ops(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for loader in self.loaders.unique("loader", keep="first", maintain_order=True).iter_rows(named=True):
            workers, parent = max(loader["workers"] or 0, 1), None
            stages: list[tuple[str, int, int | None]] = [("DataLoader", workers, None)]
            stages += [("PinMemory", 1, None)] if loader["pin_memory"] else []
            stages += [("Collate", workers, loader["capacity"]), ("Dataset", workers, None)]
            for kind, count, capacity in stages:
                named = loader["dataset"] if kind == "Dataset" else None
                row = {"op": len(rows), "name": named or kind, "kind": kind, "parent": parent, "workers": count}
                rows.append({**row, "capacity": capacity, "sink": False, "loader": loader["loader"]})
                parent = row["op"]
        return rows

    def _write_batches(self, steps: Steps, ops: list[dict[str, Any]], out: RankWriter, notes: Notes) -> None:
        if self.batches.is_empty():
            return
        for loader, taken in self.batches.group_by("loader"):
            queue = next((op["op"] for op in ops if op["loader"] == loader[0] and op["kind"] == "Collate"), None)
            known = taken.filter(pl.col("queue").is_not_null()).sort("start_ns")
            if queue is not None:
                out.add("pipeline_samples", known.select(pl.lit(queue).alias("op"), time_ns="start_ns", queue="queue"))
        # The table has one loop; another loader in the same window is evaluation, or a second input.
        counts = self.batches.group_by("loader", maintain_order=True).len()
        most = counts.sort("len", descending=True, maintain_order=True)["loader"][0]
        notes.add("loaders_beside", file=names.BATCHES_FILE, count=counts.height - 1)
        main = self.batches.filter(pl.col("loader") == most).sort("start_ns")
        capacity = self.loaders.filter(pl.col("loader") == most)["capacity"]
        waited = (pl.col("end_ns") - pl.col("start_ns")) / 1000
        out.add(
            "pipeline_batches",
            main.select(
                "batch",
                nullable(steps.at(main["end_ns"].to_numpy() - 1)).alias("step"),
                get_us=waited,
                total_us=waited,
                queue="queue",
                capacity=pl.lit(capacity[0] if len(capacity) else None, pl.Int64),
            ),
        )

    def _add_slices(self, parts: SliceParts) -> None:
        kind = pl.col("stage").replace_strict(_KINDS, default=None)
        known = self.stages.with_columns(type=kind).filter(pl.col("type").is_not_null())
        for (worker, pid), here in known.group_by("worker", "pid", maintain_order=True):
            name = "main process" if worker is None else f"worker {worker}"
            track = parts.tracks.track("host", f"{name} ({pid})", _PROCESS, str(pid))
            parts.add(_slices(here, track, pl.col("type")), names.STAGES_FILE)
        for (loader,), taken in self.batches.group_by("loader", maintain_order=True):
            track = parts.tracks.track("host", f"batches of loader {loader}", _PROCESS, f"loader {loader}")
            parts.add(_slices(taken, track, pl.lit("DataLoader")), names.BATCHES_FILE)


def read_data_loaders(raw: Path, reading: Reading) -> DataLoaders:
    """Read the files; missing ones are empty."""
    spans = ("start_ns", "end_ns")
    return DataLoaders(
        read_lines(raw / names.LOADERS_FILE, _LOADERS, ("loader",), reading),
        read_lines(raw / names.BATCHES_FILE, _BATCHES, ("loader", "batch", *spans), reading),
        read_lines(raw / names.STAGES_FILE, _STAGES, ("stage", *spans), reading),
    )


def _slices(rows: pl.DataFrame, track: int, kind: pl.Expr) -> pl.DataFrame:
    return rows.select(
        pl.lit(track).alias("track"),
        "start_ns",
        dur_ns=pl.col("end_ns") - pl.col("start_ns"),
        name=kind,
        kind=pl.lit("annotation"),
        type=kind,
        phase=pl.lit("data"),
    )
