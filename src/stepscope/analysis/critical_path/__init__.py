"""The critical path of a step: the chain of work and waiting that made it as long as it was (docs/metrics)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.critical_path.kinds import BOUNDS
from stepscope.analysis.critical_path.parts import Parts, names_of, parts_of
from stepscope.analysis.foundation.capture_limits import compute_is_hidden
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.step_pattern import pattern_of
from stepscope.analysis.foundation.units import Count, Identifier, Microseconds, Nanoseconds, Share
from stepscope.analysis.foundation.work import COMPUTE, ranks_of, work_of
from stepscope.analysis.replay.rank_graph import RankGraph, rank_graph
from stepscope.analysis.step_statistics import typical
from stepscope.analysis.steps import steps as step_trace
from stepscope.arrays import NONE
from stepscope.errors import NoAnswerError
from stepscope.facts.critical_path import critical_path_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges

__all__ = ["CriticalPath", "critical_path"]


class BoundShare(msgspec.Struct, frozen=True):
    """How much of a path is bound by one thing; the entries of a path add up to its length."""

    bound: str
    duration_us: Microseconds
    share: Share


class PathPart(msgspec.Struct, frozen=True):
    """A part of a path; each begins where the one before ends."""

    slice: Identifier | None
    name: str | None
    start_ns: Nanoseconds
    duration_us: Microseconds
    bound: str


class NameShare(msgspec.Struct, frozen=True):
    """All parts of a path that have one name and are bound by the same."""

    bound: str
    name: str | None
    count: Count
    duration_us: Microseconds


class CriticalPath(msgspec.Struct, frozen=True):
    """The path of one step of one rank."""

    rank: Identifier
    step: Identifier
    start_ns: Nanoseconds
    length_us: Microseconds
    by_bound: list[BoundShare]
    by_name: list[NameShare]
    path: list[PathPart]
    inferred_waits: Count
    needs: list[str]


@question()
def critical_path(
    store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> Answer[list[CriticalPath]]:
    """The paths of these steps; of the most typical step of each rank if none are named."""
    paths, notes, marked, asked = [], [], False, False
    for rank in ranks_of(store, ranks):
        marks = step_marks(store, rank)
        if marks.is_empty():
            notes.append(Note("no_steps", rank=rank))
            continue
        marked = True
        chosen = (
            [step for step in marks["step"].to_list() if step in steps] if steps else [_telling(store, rank, notes)]
        )
        if not chosen:
            continue
        asked = True
        work = work_of(store, rank)
        if len(work.slice) and (compute_is_hidden(store, rank) or not work.of(COMPUTE).any()):
            notes.append(Note("no_compute_recorded", rank=rank))
            continue
        periods = periods_of(store, rank)
        index = periods.index_of(np.array(chosen))
        windows = zip(periods.start[index].tolist(), periods.end[index].tolist(), strict=True)
        made = [
            (step, rank_graph(store, rank, work, window))
            for step, window in zip(chosen, windows, strict=True)
            if window[0] < window[1]
        ]
        told = [(step, graph) for step, graph in made if graph.tells]
        paths += [_path(rank, step, graph) for step, graph in told]
        notes += _notes(rank, [graph for _, graph in told], silent=len(chosen) - len(told))
    if not marked:
        raise NoAnswerError("no_steps")
    if not asked:
        raise NoAnswerError("step_without_data", steps=ranges(steps or []))
    if not paths:
        raise NoAnswerError("path_nothing_recorded")
    return Answer(paths, notes)


def _telling(store: RunStore, rank: int, notes: list[Note]) -> int:
    """The step to show: of steps that stall in a rhythm or take most of the time one, else the most typical one."""
    counted = typical(step_trace(store, ranks=[rank]).data)
    pattern = pattern_of(counted["step"].to_numpy(), counted["period_us"].to_numpy())
    long = _long_steps(counted)
    if pattern is not None:
        step = _middle(counted.filter(pl.col("step").is_in(pattern.steps)))
        notes.append(Note("path_of_stalling_step", {"step": step, "every": pattern.every}, rank=rank))
    elif len(long):
        step = _middle(long)
        notes.append(Note("path_of_long_step", {"step": step}, count=len(long), rank=rank))
    else:
        step = _middle(counted)
        notes += [Note("path_of_typical_step", {"step": step}, rank=rank)] if len(counted) > 1 else []
    return step


def _middle(steps: pl.DataFrame) -> int:
    period = pl.col("period_us")
    return int(steps.sort((period - period.median()).abs(), "start_ns")["step"][0])


def _long_steps(counted: pl.DataFrame) -> pl.DataFrame:
    """Steps far above the median where they take most of the time; none elsewhere."""
    limits = critical_path_facts().shown_step
    period = pl.col("period_us")
    long = counted.filter(period > limits.longer_than_median * period.median())
    takes_most = float(long["period_us"].sum()) >= limits.least_share_of_time * float(counted["period_us"].sum())
    return long if takes_most else long.clear()


def _path(rank: int, step: int, made: RankGraph) -> CriticalPath:
    parts = parts_of(made, made.graph.longest_path(made.sink(step, int(made.nodes.time[-1]))))
    length = int((parts.end - parts.start).sum())
    names = names_of(made, parts.slice)
    columns = (
        parts.slice.tolist(),
        names,
        parts.start.tolist(),
        (parts.end - parts.start).tolist(),
        parts.bound.tolist(),
    )
    return CriticalPath(
        rank=rank,
        step=step,
        start_ns=int(made.graph.time[0]),
        length_us=length / 1000,
        by_bound=_by_bound(parts, length),
        by_name=_by_name(parts, names),
        path=[
            PathPart(None if number == NONE else number, name, start, lasts / 1000, BOUNDS[bound])
            for number, name, start, lasts, bound in zip(*columns, strict=True)
        ],
        inferred_waits=made.inferred_waits,
        needs=_needs(made),
    )


def _by_bound(parts: Parts, length: int) -> list[BoundShare]:
    total = np.zeros(len(BOUNDS), np.int64)
    np.add.at(total, parts.bound, parts.end - parts.start)
    largest_first = np.argsort(-total, kind="stable").tolist()
    return [
        BoundShare(BOUNDS[bound], int(total[bound]) / 1000, int(total[bound]) / length)
        for bound in largest_first
        if total[bound]
    ]


def _by_name(parts: Parts, names: Sequence[str | None]) -> list[NameShare]:
    """The longest first; of equal ones that which comes first on the path."""
    columns = {"bound": parts.bound, "name": names, "lasts": parts.end - parts.start}
    rows = pl.DataFrame(columns, schema_overrides={"name": pl.String})
    groups = rows.group_by("bound", "name", maintain_order=True).agg(count=pl.len(), total=pl.col("lasts").sum())
    longest_first = groups.sort("total", descending=True, maintain_order=True)
    return [
        NameShare(BOUNDS[bound], name, count, total / 1000) for bound, name, count, total in longest_first.iter_rows()
    ]


def _needs(made: RankGraph) -> list[str]:
    """What a better path would need to be recorded."""
    missing = []
    if made.on_device and not made.launches_known:
        missing.append("launches")
    if made.on_device and not made.waits_known:
        missing.append("stream_waits")
    return missing


def _notes(rank: int, graphs: list[RankGraph], silent: int) -> list[Note]:
    notes = [Note("path_of_silent_steps", rank=rank, count=silent)] if silent else []
    if graphs and not graphs[0].on_device:
        return [*notes, Note("host_operators_are_work", rank=rank)]
    needs = {need for graph in graphs for need in _needs(graph)}
    if "launches" in needs:
        notes.append(Note("launches_not_recorded", rank=rank))
    if "stream_waits" in needs:
        notes.append(
            Note("path_without_stream_waits", {"inferred": sum(graph.inferred_waits for graph in graphs)}, rank=rank)
        )
    return notes
