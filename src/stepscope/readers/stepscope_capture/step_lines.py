"""Steps from ``steps.jsonl``: from step() calls, else from optimizer steps, else the window as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from stepscope.layout import names
from stepscope.layout.optimizer_steps import steps_of_the_training
from stepscope.readers.files.reading import Reading
from stepscope.readers.slices.steps import Steps, no_steps
from stepscope.readers.stepscope_capture.description import Description
from stepscope.readers.stepscope_capture.line_files import read_lines

_SCHEMA: Final = {"event": pl.String, "step": pl.Int64, "optimizer": pl.Int64, "time_ns": pl.Int64}


class StepLines:
    """The steps of a window by our own clock, and how to fit them to marks that a trace carries."""

    def __init__(self, steps: pl.DataFrame, marks_from: str) -> None:
        self.steps = steps  # step, start, end, incomplete; in order of time
        self.marks_from = marks_from

    def fitted(self, marked: Steps) -> Steps:
        """Our steps, with the times of the trace's own marks where it has them: they are on the operators' clock."""
        if self.marks_from == "profiler_step":
            marks = pl.DataFrame({"step": marked.number, "start_": marked.start, "end_": marked.end})
            rows = self.steps.join(marks.unique("step", keep="last"), on="step", how="left", maintain_order="left")
            rows = rows.with_columns(
                start=pl.coalesce("start_", "start"),
                end=pl.coalesce("end_", "end"),
            )
        else:
            rows = self.steps
        return Steps(
            rows["step"].to_numpy().astype(np.int64),
            rows["start"].to_numpy().astype(np.int64),
            rows["end"].to_numpy().astype(np.int64),
            self.marks_from,
        )

    def own(self) -> Steps:
        """The steps on our clock alone."""
        return self.fitted(no_steps())

    def incomplete(self) -> list[int]:
        """Numbers of steps in which the recording ended."""
        return self.steps.filter("incomplete")["step"].to_list()


def read_steps(raw: Path, said: Description, last_ns: int, reading: Reading) -> StepLines:
    """Read the file; a step that was open when the process died lasts to ``last_ns``, the last that is known."""
    lines = read_lines(raw / names.STEPS_FILE, _SCHEMA, ("event", "time_ns"), reading)
    called = _called(lines, last_ns)
    if not called.filter(~pl.col("incomplete")).is_empty():
        return StepLines(called, "profiler_step")
    by_optimizer = _by_optimizer(lines, called)
    # Under a schedule a single one may lie in a step that was cut; several do where nobody calls step().
    if by_optimizer.height > int(said.has_schedule):
        reading.notes.add("steps_from_optimizer", file=names.STEPS_FILE, count=by_optimizer.height)
        return StepLines(by_optimizer, "optimizer_step")
    if said.has_schedule:
        return StepLines(called, "profiler_step")
    return StepLines(called.with_columns(incomplete=pl.lit(said.cut_off)), "window")


def _called(lines: pl.DataFrame, last_ns: int) -> pl.DataFrame:
    events = lines.filter(pl.col("step").is_not_null())
    return (
        events.group_by("step", maintain_order=True)
        .agg(
            start=pl.col("time_ns").filter(pl.col("event") == "begin").first(),
            end=pl.col("time_ns").filter(pl.col("event").is_in(["end", "cut"])).first(),
            incomplete=~(pl.col("event") == "end").any(),
        )
        .drop_nulls("start")
        .with_columns(end=pl.max_horizontal("start", pl.col("end").fill_null(last_ns)))
        .sort("start")
    )


def _by_optimizer(lines: pl.DataFrame, window: pl.DataFrame) -> pl.DataFrame:
    """Each step ends with a step of the optimizer that leads; what follows the last one is no whole step."""
    made = lines.filter((pl.col("event") == "optimizer") & pl.col("optimizer").is_not_null()).sort("time_ns")
    ends = made.filter(pl.Series(steps_of_the_training(made["optimizer"]), dtype=pl.Boolean))["time_ns"]
    if ends.is_empty() or window.is_empty():
        return window.clear()
    first = window["start"][0]
    starts = pl.concat([pl.Series([first], dtype=pl.Int64), ends[:-1]])
    return pl.DataFrame({"step": range(len(ends)), "start": starts, "end": ends}).with_columns(
        step=pl.col("step").cast(pl.Int64), incomplete=pl.lit(False)
    )
