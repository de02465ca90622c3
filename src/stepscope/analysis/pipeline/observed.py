"""What a capture tells about the input pipeline of a rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import polars as pl

from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.pipeline.processors import with_lengths
from stepscope.analysis.pipeline.step_clock import step_clock
from stepscope.analysis.pipeline.structure import Mode
from stepscope.analysis.steps import step_trace
from stepscope.errors import NoAnswerError
from stepscope.facts.pipeline import pipeline_facts
from stepscope.store import schema
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges

_TABLES: Final = ("pipeline_ops", "pipeline_samples", "pipeline_batches", "cpu")
_WHOLE_WINDOW: Final = "window"  # a run without step marks counts as one


@dataclass(frozen=True)
class StageFacts:
    """The name of a stage and its number of workers, at least 1."""

    name: str
    kind: str
    workers: int


@dataclass(frozen=True)
class Observed:
    """Tables of one rank; ``batches`` knows which are first and, where recorded, when they were taken."""

    rank: int
    mode: Mode
    ops: pl.DataFrame
    samples: pl.DataFrame
    batches: pl.DataFrame
    cpu: pl.DataFrame
    marks: pl.DataFrame
    steps: pl.DataFrame  # the answer to ``steps``, for those marks
    gets: pl.DataFrame  # taking a batch from a PyTorch loader
    waits: pl.DataFrame  # the device waiting for its queue
    getnexts: pl.DataFrame  # the operator that takes data on the device
    works: pl.DataFrame  # stages at work, where that was recorded

    @cached_property
    def stages(self) -> dict[int, StageFacts]:
        """By number."""
        rows = self.ops.select("op", "name", pl.col("kind").cast(pl.String), "workers").iter_rows()
        return {op: StageFacts(name or str(op), kind or "", max(workers or 1, 1)) for op, name, kind, workers in rows}

    @cached_property
    def sinks(self) -> list[int]:
        """Stages that feed the device."""
        return self.ops.filter("sink")["op"].to_list()


def observe(store: RunStore, ranks: list[int], steps: Sequence[int] | None = None) -> tuple[list[Observed], list[Note]]:
    """The ranks that recorded anything about their pipeline, narrowed to ``steps``."""
    notes: list[Note] = []
    tables = {name: _by_rank(store, name, ranks) for name in _TABLES}
    observed = []
    for rank in ranks:
        mine = {name: frames.get(rank, schema.empty(name)) for name, frames in tables.items()}
        slices = _data_slices(store, rank)
        kinds = [mine[name] for name in _TABLES[:3]] + [slices]
        if all(frame.is_empty() for frame in kinds):
            notes.append(Note("pipeline_not_recorded", rank=rank))
            continue
        observed.append(_of_rank(store, rank, mine, slices))
    if not observed:
        raise NoAnswerError("no_pipeline")
    if steps:
        observed = [_narrowed(seen, steps, notes) for seen in observed]
        if all(seen.marks.is_empty() and seen.batches.is_empty() for seen in observed):
            raise NoAnswerError("step_without_data", steps=ranges(steps))
    return observed, notes


def _by_rank(store: RunStore, table: str, ranks: list[int]) -> dict[int, pl.DataFrame]:
    frame = store.scan(table, ranks).collect()
    return {int(rank): rows for (rank,), rows in frame.partition_by("rank", as_dict=True, maintain_order=True).items()}


def _of_rank(store: RunStore, rank: int, mine: dict[str, pl.DataFrame], slices: pl.DataFrame) -> Observed:
    names = pipeline_facts().slices
    name, kind = pl.col("name"), pl.col("kind")
    gets = slices.filter((kind == "annotation") & name.str.contains(names.loader_get))
    getnext = name.str.contains(names.getnext)
    waits, getnexts = slices.filter((kind == "wait") & getnext), slices.filter((kind == "kernel") & getnext)
    clocks = batch_clocks(store, rank)
    marks = marked_steps(store, rank)
    mode: Mode = "unknown"
    if mine["pipeline_ops"]["sink"].fill_null(False).any() or "sink" in clocks or not waits.is_empty():
        mode = "sink"
    elif "feed" in clocks or not mine["pipeline_batches"].is_empty() or not gets.is_empty():
        mode = "feed"
    return Observed(
        rank,
        mode,
        mine["pipeline_ops"].unique("op", keep="first", maintain_order=True),
        mine["pipeline_samples"].drop_nulls().sort("time_ns", maintain_order=True),
        timed_batches(mine["pipeline_batches"], clocks.get(mode)),
        with_lengths(mine["cpu"].sort("time_ns", maintain_order=True)),
        marks,
        step_trace(store, rank).filter(pl.col("step").is_in(marks["step"].to_list())) if len(marks) else pl.DataFrame(),
        gets,
        waits,
        getnexts,
        slices.filter((kind == "annotation") & pl.col("type").is_not_null()),
    )


def marked_steps(store: RunStore, rank: int) -> pl.DataFrame:
    """The steps that somebody marked, in time order."""
    marks = step_marks(store, rank)
    marked = pl.col("marks_from").cast(pl.String).ne_missing(_WHOLE_WINDOW)
    return marks.filter(marked).drop_nulls(["step", "host_start_ns", "host_end_ns"]) if len(marks) else marks


def _data_slices(store: RunStore, rank: int) -> pl.DataFrame:
    return (
        store.scan("slices", [rank])
        .filter((pl.col("phase") == "data") & pl.col("kind").is_in(["annotation", "wait", "kernel"]))
        .select(
            pl.col("name").cast(pl.String),
            pl.col("kind", "type").cast(pl.String),
            "step",
            "start_ns",
            end_ns=pl.col("start_ns") + pl.col("dur_ns"),
        )
        .collect()
        .sort("start_ns")
    )


def batch_clocks(store: RunStore, rank: int) -> dict[str, pl.Series]:
    """Moments at which batches were taken: MindSpore's files tell them with the fill of the queue."""
    names = pipeline_facts().batch_clock
    tracks = store.scan("tracks", [rank]).filter(
        (pl.col("kind") == "counter") & pl.col("name").cast(pl.String).is_in(list(names.values()))
    )
    track_of = dict(tracks.select(pl.col("name").cast(pl.String), "track").collect().iter_rows())
    return {
        mode: store.scan("counters", [rank]).filter(pl.col("track") == track_of[name]).collect()["time_ns"]
        for mode, name in names.items()
        if name in track_of
    }


def timed_batches(rows: pl.DataFrame, clock: pl.Series | None) -> pl.DataFrame:
    """With ``first`` (of the run, or where numbering starts again) and ``time_ns``, null if not recorded."""
    restarted = (pl.col("batch") <= pl.col("batch").shift(1)).fill_null(True)
    rows = rows.with_columns(first=restarted, time_ns=pl.lit(None, pl.Int64))
    timed = pl.col("queue").is_not_null()
    if clock is None or len(clock) != rows.filter(timed).height or not clock.is_sorted():
        return rows
    parts = [rows.filter(timed).with_columns(clock.alias("time_ns")), rows.filter(~timed)]
    return pl.concat(parts) if parts[1].is_empty() else rows


def _narrowed(seen: Observed, steps: Sequence[int], notes: list[Note]) -> Observed:
    chosen = list(steps)
    number = pl.coalesce("step", "batch")
    narrowed = replace(
        seen,
        marks=seen.marks.filter(pl.col("step").is_in(chosen)) if len(seen.marks) else seen.marks,
        batches=seen.batches.filter(number.is_in(chosen)),
        **{
            name: getattr(seen, name).filter(pl.col("step").is_in(chosen))
            for name in ("gets", "waits", "getnexts", "works")
        },
    )
    on_device = pl.col("op").is_in(seen.sinks)
    samples = [
        _within(seen, rows, chosen, "pipeline_samples", notes)
        for rows in (seen.samples.filter(~on_device), seen.samples.filter(on_device))
    ]
    return replace(
        narrowed,
        samples=pl.concat(samples).sort("time_ns", maintain_order=True),
        cpu=_within(seen, seen.cpu, chosen, "cpu", notes),
    )


def _within(seen: Observed, rows: pl.DataFrame, steps: list[int], what: str, notes: list[Note]) -> pl.DataFrame:
    """The rows of the steps; all of them, with a note, where nothing tells to which step they belong."""
    if rows.is_empty():
        return rows
    moments = rows["time_ns"].to_numpy()
    clock = step_clock(seen.marks, seen.batches, moments)
    if clock is None:
        notes.append(Note("pipeline_steps_not_applied", {"what": what}, rank=seen.rank))
        return rows
    return rows.filter(clock.at(moments).is_in(steps).fill_null(False))
