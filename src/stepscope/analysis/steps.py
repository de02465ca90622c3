"""Where each step goes: the step trace of every rank (docs/metrics/steps.md has the formulas)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.capture_limits import compute_is_hidden
from stepscope.analysis.foundation.idle import CAUSES
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.step_parts import step_parts
from stepscope.analysis.foundation.units import Identifier, Nanoseconds, fields_in
from stepscope.analysis.foundation.work import COMPUTE, ranks_of, work_of
from stepscope.analysis.reported_steps import reported_steps
from stepscope.analysis.step_statistics import StepStatistics, step_statistics
from stepscope.analysis.step_times import StepTimes
from stepscope.errors import NoAnswerError
from stepscope.facts.steps import steps_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges


class Step(StepTimes, frozen=True):
    """One step of one rank; null is what the capture cannot tell."""

    rank: Identifier
    step: Identifier
    start_ns: Nanoseconds | None
    period_start_ns: Nanoseconds | None
    warm_up: bool
    incomplete: bool
    mode: str


@question(rows=Step, beside={"statistics": list[StepStatistics]})
def steps(
    store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> Answer[pl.DataFrame]:
    """The fields of ``Step``, one row per rank and step, in time order."""
    frames: list[pl.DataFrame] = []
    notes: list[Note] = []
    for rank in ranks_of(store, ranks):
        rows_of_rank, file = steps_of_rank(store, rank)
        frames += [] if rows_of_rank is None else [rows_of_rank]
        if step_marks(store, rank).is_empty():
            notes.append(Note("steps_as_reported" if rows_of_rank is not None else "no_steps", file=file, rank=rank))
            continue
        notes += remarks_of_rank(store, rank)
    if not frames:
        raise NoAnswerError("no_steps")
    rows = pl.concat(frames)
    if steps:
        rows = rows.filter(pl.col("step").is_in(list(steps)))
        if rows.is_empty():
            raise NoAnswerError("step_without_data", steps=ranges(steps))
    return Answer(rows, notes, {"statistics": step_statistics(rows)})


def steps_of_rank(store: RunStore, rank: int) -> tuple[pl.DataFrame | None, str]:
    """The rows of one rank, and the file that reports them where nothing marks its steps."""
    if not step_marks(store, rank).is_empty():
        return step_trace(store, rank), ""
    rows, file = reported_steps(store, rank)
    return (_as_steps(rows) if len(rows) else None), file


@cached_summary_per_rank
def remarks_of_rank(store: RunStore, rank: int) -> list[Note]:
    """What a reader of the step trace of a rank should know."""
    notes = []
    work = work_of(store, rank)
    if not work.in_step.any():
        notes.append(Note("no_device_work", rank=rank))
    elif not work.on_device:
        notes.append(Note("host_operators_are_work", rank=rank))
    elif not (work.of(COMPUTE) & work.in_step).any():
        notes.append(Note("no_compute_recorded", rank=rank))
    elif compute_is_hidden(store, rank):
        notes.append(Note("compute_only_in_tables", rank=rank))
    notes += _host_ran_ahead(step_trace(store, rank))
    since, until = periods_of(store, rank).unseen
    if until > since:
        notes.append(Note("device_held_by_unseen_work", {"time": f"{(until - since) / 1e6:,.3f}"}, rank=rank))
    if work.on_device and (devices := _devices(store, rank)) > 1:
        notes.append(Note("several_devices", count=devices, rank=rank))
    return notes


def _as_steps(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with some of the fields of ``Step`` as whole ones."""
    types: dict[str, pl.DataType | type[pl.DataType]] = dict.fromkeys(Step.__struct_fields__, pl.Float64)
    causes = pl.Struct({f"{cause}_us": pl.Float64 for cause in CAUSES})
    types |= {"rank": pl.Int32, "step": pl.Int64, "start_ns": pl.Int64, "period_start_ns": pl.Int64, "mode": pl.String}
    types |= {"idle_by_cause": causes, "warm_up": pl.Boolean, "incomplete": pl.Boolean}
    unknown = [(pl.col("idle_us") if cause == "unknown" else pl.lit(0.0)).alias(f"{cause}_us") for cause in CAUSES]
    own = rows.with_columns(
        idle_by_cause=pl.struct(unknown),
        mode=pl.lit("reported"),
        warm_up=pl.lit(False),
        incomplete=pl.lit(False),
    )
    return own.select(
        (pl.col(name) if name in own.columns else pl.lit(None)).cast(kind).alias(name) for name, kind in types.items()
    )


@cached_summary_per_rank
def _devices(store: RunStore, rank: int) -> int:
    """How many devices computed; one process may use several."""
    work = work_of(store, rank)
    used = np.unique(work.track[work.of(COMPUTE)])
    tracks = store.scan("tracks", [rank]).filter(pl.col("track").is_in(used.tolist()))
    return int(tracks.select(pl.col("process").drop_nulls().n_unique()).collect().item())


@cached_summary_per_rank
def step_trace(store: RunStore, rank: int) -> pl.DataFrame:
    """The rows of one rank whose steps are marked."""
    marks = step_marks(store, rank)
    start, end = pl.col("host_start_ns"), pl.max_horizontal("host_end_ns", "work_end_ns")
    forward, backward = pl.col("forward_start_ns"), pl.col("backward_end_ns")
    last = pl.coalesce(backward, pl.col("work_end_ns"), pl.col("host_end_ns"))
    rows = marks.hstack(step_parts(store, rank)).with_columns(end_ns=end)
    # In the first step the device may have to end what was launched before the window: that is none of the step's.
    free = pl.max_horizontal(start, "period_start_ns")
    is_held = pl.col("end_ns").shift(1).is_null() & (forward < free)
    rows = rows.with_columns(
        interval_ns=(forward - pl.col("end_ns").shift(1).fill_null(free)).clip(lower_bound=0),
        forward_backward_ns=last - pl.when(is_held).then(free).otherwise(forward),
        # A window without marks may hold many iterations: what lies behind the last backward is no step's tail.
        tail_ns=pl.when(backward.is_not_null() & pl.col("marks_from").cast(pl.String).ne_missing("window")).then(
            pl.col("end_ns") - backward
        ),
        duration_ns=pl.col("host_end_ns") - start,
        preparing_ns=pl.col("first_ns") - start,
        mode=pl.when(backward.is_not_null())
        .then(pl.lit("training"))
        .when(forward.is_not_null())
        .then(pl.lit("inference"))
        .otherwise(pl.lit("unknown")),
        stage_ns=pl.col("device_span_ns") - pl.col("bubble_ns"),
    )
    fields = fields_in("us", Step)
    causes = pl.struct(_microseconds(f"idle_{cause}_ns").alias(f"{cause}_us") for cause in CAUSES)
    return rows.select(
        "rank",
        "step",
        "period_start_ns",
        start_ns="host_start_ns",
        **{name: _microseconds(f"{name.removesuffix('_us')}_ns") for name in fields},
        idle_by_cause=pl.when(pl.col("idle_ns").is_not_null()).then(causes),
        warm_up="warm_up",
        incomplete="incomplete",
        mode="mode",
    ).select(Step.__struct_fields__)


def _microseconds(column: str) -> pl.Expr:
    return in_microseconds(pl.col(column))


def _host_ran_ahead(rows: pl.DataFrame) -> list[Note]:
    """A note where the device needs notably longer for a step than its mark on the host lasts."""
    usual = rows.filter(~pl.col("warm_up") & ~pl.col("incomplete"))
    mark, period = (usual if len(usual) else rows).select(pl.col("duration_us", "period_us").median()).row(0)
    if mark is None or period <= mark * steps_facts().ahead.longer_than_mark:
        return []
    values = {"mark": f"{mark / 1000:,.3f}", "device": f"{period / 1000:,.3f}"}
    return [Note("host_ran_ahead", values, rank=int(rows["rank"][0]))]
