"""Where each step goes: the step trace of every rank (docs/metrics/steps.md has the formulas)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.capture_limits import compute_is_hidden
from stepscope.analysis.foundation.intervals import Intervals, joined, union
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.rank_cache import cached_per_rank
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.step_pace import host_ran_ahead
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE, COPY, Work, ranks_of, work_of
from stepscope.analysis.step_statistics import StepStatistics, step_statistics
from stepscope.arrays import Bools, Int64s
from stepscope.errors import NoAnswerError
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore


class Step(msgspec.Struct, frozen=True):
    """One step of one rank; null is what the capture cannot tell."""

    rank: int
    step: int
    start_ns: int
    duration_us: float
    interval_us: float | None
    forward_backward_us: float | None
    tail_us: float | None
    device_span_us: float | None
    computing_us: float | None
    pure_computing_us: float | None
    communication_us: float | None
    overlapped_us: float | None
    exposed_communication_us: float | None
    receive_alone_us: float | None
    collective_alone_us: float | None
    exposed_copy_us: float | None
    free_us: float | None
    enclosing_us: float | None
    preparing_us: float | None
    bubble_us: float | None
    stage_us: float | None
    warm_up: bool
    incomplete: bool
    mode: str


@question(rows=Step, beside={"statistics": list[StepStatistics]})
def steps(
    store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> Answer[pl.DataFrame]:
    """The fields of ``Step``, one row per rank and step, in time order."""
    frames, notes = [], []
    for rank in ranks_of(store, ranks):
        marks = step_marks(store, rank)
        if marks.is_empty():
            notes.append(Note("no_steps", rank=rank))
            continue
        work = work_of(store, rank)
        if not work.in_step.any():
            notes.append(Note("no_device_work", rank=rank))
        elif not work.on_device:
            notes.append(Note("host_operators_are_work", rank=rank))
        elif not (work.of(COMPUTE) & work.in_step).any():
            notes.append(Note("no_compute_recorded", rank=rank))
        elif compute_is_hidden(store, rank):
            notes.append(Note("compute_only_in_tables", rank=rank))
        notes += host_ran_ahead(store, rank)
        if work.on_device and (devices := _devices(store, rank)) > 1:
            notes.append(Note("several_devices", count=devices, rank=rank))
        frames.append(_trace(store, rank))
    if not frames:
        raise NoAnswerError("no_steps")
    found = pl.concat(frames)
    if steps:
        found = found.filter(pl.col("step").is_in(list(steps)))
        if found.is_empty():
            raise NoAnswerError("no_such_step", steps=", ".join(map(str, steps)))
    return Answer(found, notes, {"statistics": step_statistics(found)})


@cached_per_rank
def _devices(store: RunStore, rank: int) -> int:
    """How many devices computed; one process may use several."""
    work = work_of(store, rank)
    used = np.unique(work.track[work.of(COMPUTE)])
    tracks = store.scan("tracks", [rank]).filter(pl.col("track").is_in(used.tolist()))
    return int(tracks.select(pl.col("process").drop_nulls().n_unique()).collect().item())


@cached_per_rank
def _trace(store: RunStore, rank: int) -> pl.DataFrame:
    marks = step_marks(store, rank)
    parts = _parts(marks, work_of(store, rank))
    if compute_is_hidden(store, rank):
        parts = parts.clear(len(parts))
    start, end = pl.col("host_start_ns"), pl.max_horizontal("host_end_ns", "work_end_ns")
    forward, backward = pl.col("forward_start_ns"), pl.col("backward_end_ns")
    last = pl.coalesce(backward, pl.col("work_end_ns"), pl.col("host_end_ns"))
    rows = marks.hstack(parts).with_columns(end_ns=end)
    rows = rows.with_columns(
        interval_ns=(forward - pl.col("end_ns").shift(1).fill_null(start)).clip(lower_bound=0),
        forward_backward_ns=last - forward,
        tail_ns=pl.when(backward.is_not_null()).then(pl.col("end_ns") - backward),
        duration_ns=pl.col("host_end_ns") - start,
        preparing_ns=pl.col("first_ns") - start,
        mode=pl.when(backward.is_not_null())
        .then(pl.lit("training"))
        .when(forward.is_not_null())
        .then(pl.lit("inference"))
        .otherwise(pl.lit("unknown")),
        stage_ns=pl.col("device_span_ns") - pl.col("bubble_ns"),
    )
    fields = [name for name in Step.__struct_fields__ if name.endswith("_us")]
    return rows.select(
        "rank",
        "step",
        start_ns="host_start_ns",
        # Rounded, because Polars multiplies by a thousandth instead of dividing.
        **{name: (pl.col(f"{name[:-3]}_ns") / 1000).round(3) for name in fields},
        warm_up="warm_up",
        incomplete="incomplete",
        mode="mode",
    ).select(Step.__struct_fields__)


def _parts(marks: pl.DataFrame, work: Work) -> pl.DataFrame:
    """How the device's time divides, for each step.

    Steps may overlap on the device. To sweep all of them at once, each is moved to a place of its own on one axis.
    """
    number = marks["step"].to_numpy()
    order = np.argsort(number, kind="stable")
    inside = work.in_step & np.isin(work.step, number)
    index = order[np.searchsorted(number[order], work.step[inside])] if len(number) else np.empty(0, np.int64)
    start, end = work.start[inside], work.end[inside]
    host_start, host_end = marks["host_start_ns"].to_numpy(), marks["host_end_ns"].to_numpy()
    # Where other steps compute, a step without any work did none: that is a stall, and not unknown.
    anywhere = bool(work.of(COMPUTE)[inside].any())
    if work.on_device:
        window_start, window_end, there = _bounds(index, start, end, len(number))
    else:
        window_start, window_end = host_start, host_end
        there = (np.bincount(index, minlength=len(number)) > 0) | anywhere
        start, end = (
            np.clip(start, host_start[index], host_end[index]),
            np.clip(end, host_start[index], host_end[index]),
        )
    span = np.where(there, window_end - window_start, 0)
    place = np.concatenate(([0], np.cumsum(span)))
    shift = place[:-1] - window_start
    start, end = start + shift[index], end + shift[index]

    def of(chosen: Bools) -> Intervals:
        return union(start[chosen], end[chosen])

    def per_step(part: Intervals) -> Int64s:
        return part.covered_within(place[:-1], place[1:])

    is_copy, is_communication, receives = work.of(COPY)[inside], work.of(COMMUNICATION)[inside], work.receives[inside]
    compute, communication = of(work.of(COMPUTE)[inside]), of(is_communication)
    busy = joined(compute, communication)
    # What one part has alone is what it adds to the union with the others.
    computing, communicating, together = per_step(compute), per_step(communication), per_step(busy)
    with_others = per_step(joined(compute, of(is_communication & ~receives)))
    exposed, occupied = together - computing, per_step(joined(busy, of(is_copy)))
    columns = {
        "device_span_ns": span,
        "computing_ns": computing,
        "pure_computing_ns": together - communicating,
        "communication_ns": communicating,
        "overlapped_ns": communicating - exposed,
        "exposed_communication_ns": exposed,
        "receive_alone_ns": together - with_others,
        "collective_alone_ns": with_others - computing,
        "exposed_copy_ns": occupied - together,
        "free_ns": span - occupied,
        "enclosing_ns": _enclosing(marks, work, busy, place, shift),
        "bubble_ns": per_step(of(receives)),
        "work_end_ns": np.where(there, window_end, _UNKNOWN),
        "first_ns": _first(index, start - shift[index], ~is_copy, len(number)),
    }
    # Without compute slices nobody can tell what communication was exposed or when the device was free.
    return pl.DataFrame(columns).select(
        pl.when(pl.lit(anywhere) & (pl.col(name) != _UNKNOWN)).then(pl.col(name)).alias(name) for name in columns
    )


def _enclosing(marks: pl.DataFrame, work: Work, busy: Intervals, place: Int64s, shift: Int64s) -> Int64s:
    """Time that operators of the host spent on their own around the operators inside them."""
    outer, number = work.enclosing, marks["step"].to_numpy()
    if not len(outer.start):
        return np.zeros(len(number), np.int64)
    order = np.argsort(number, kind="stable")
    inside = np.isin(outer.step, number)
    index = order[np.searchsorted(number[order], outer.step[inside])]
    low, high = marks["host_start_ns"].to_numpy()[index], marks["host_end_ns"].to_numpy()[index]
    start = np.clip(outer.start[inside], low, high) + shift[index]
    end = np.clip(outer.end[inside], low, high) + shift[index]
    both = joined(union(start, end), busy)
    return both.covered_within(place[:-1], place[1:]) - busy.covered_within(place[:-1], place[1:])


_UNKNOWN = np.iinfo(np.int64).max


def _bounds(index: Int64s, start: Int64s, end: Int64s, count: int) -> tuple[Int64s, Int64s, Bools]:
    first = np.full(count, _UNKNOWN, np.int64)
    last = np.full(count, np.iinfo(np.int64).min, np.int64)
    np.minimum.at(first, index, start)
    np.maximum.at(last, index, end)
    there = first <= last
    return np.where(there, first, 0), np.where(there, last, 0), there


def _first(index: Int64s, start: Int64s, chosen: Bools, count: int) -> Int64s:
    first = np.full(count, _UNKNOWN, np.int64)
    np.minimum.at(first, index[chosen], start[chosen])
    return first
