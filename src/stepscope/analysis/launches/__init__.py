"""How the host feeds the device: launch latency, queues, idle time by cause, gaps, synchronisation, GC pauses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.data_waits import data_waits
from stepscope.analysis.foundation.idle import DATA, GC, HOST, SYNC, RankIdle, idle_of
from stepscope.analysis.foundation.launched import Launched
from stepscope.analysis.foundation.question import AtLeast, question
from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.step_parts import step_parts
from stepscope.analysis.foundation.work import ranks_of, work_of
from stepscope.analysis.launches import latency
from stepscope.analysis.launches.get_next import get_next_rows
from stepscope.analysis.launches.of_ranks import Counted, rank_activities, rank_rows
from stepscope.analysis.launches.pauses import pause_rows
from stepscope.analysis.launches.queue import queues
from stepscope.analysis.launches.statistics import statistics_rows
from stepscope.analysis.launches.stretches import activity_rows, gap_rows, idle_rows
from stepscope.analysis.launches.syncs import sync_rows
from stepscope.analysis.launches.types import (
    Activity,
    GetNext,
    Idle,
    Launches,
    Pause,
    Statistics,
    StepLaunches,
    Sync,
)
from stepscope.analysis.step_statistics import typical
from stepscope.analysis.steps import steps as step_trace
from stepscope.arrays import NONE
from stepscope.errors import NoAnswerError
from stepscope.facts.launches import launches_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges
from stepscope.typed import typed

__all__ = ["Launches", "launches"]

_GAPS: Final = 20


@question()
def launches(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    gaps: Annotated[int, AtLeast(0)] = _GAPS,
) -> Answer[Launches]:
    """Launches and idle time per rank and step; ``gaps`` is how many of the longest gaps of each rank to list."""
    answer, notes = _nothing(), []
    numbers: set[int] = set()
    for rank in ranks_of(store, ranks):
        marks = step_marks(store, rank)
        if marks.is_empty():
            notes.append(Note("no_steps", rank=rank))
            continue
        numbers.update(marks["step"].to_list())
        own, said = whole_rank_launches(store, rank) if _asks_all(steps, gaps) else _rank(store, rank, steps, gaps)
        notes += said
        for entries, more in zip(msgspec.structs.astuple(answer), msgspec.structs.astuple(own), strict=True):
            if isinstance(entries, list):
                entries.extend(more)
    if not numbers:
        raise NoAnswerError("no_steps")
    if steps and not (numbers & set(steps)):
        raise NoAnswerError("step_without_data", steps=ranges(steps))
    if not any(isinstance(entries, list) and entries for entries in msgspec.structs.astuple(answer)):
        raise NoAnswerError("launches_nothing_recorded")
    counted = _counted(
        store, [rank for rank in ranks_of(store, ranks) if not step_marks(store, rank).is_empty()], steps
    )
    answer.ranks.extend(rank_rows(answer.idle, answer.steps, counted))
    answer.rank_activities.extend(rank_activities(answer.activities, counted))
    return Answer(answer, notes)


def _counted(store: RunStore, ranks: Sequence[int], steps: Sequence[int] | None) -> Counted:
    """Which steps the mean steps of ``summary`` are made of."""
    return set(typical(step_trace(store, ranks=ranks, steps=steps).data).select("rank", "step").iter_rows())


def _nothing() -> Launches:
    return Launches([], [], [], [], [], [], [], [], [], [], [], launches_facts().gaps.least_us)


def _asks_all(steps: Sequence[int] | None, gaps: int) -> bool:
    return not steps and gaps == _GAPS


@cached_summary_per_rank
def whole_rank_launches(store: RunStore, rank: int) -> tuple[Launches, list[Note]]:
    """The lists of one rank whose steps are marked, with as many gaps as are usually asked for; and notes on them."""
    return _rank(store, rank, None, _GAPS)


def _rank(store: RunStore, rank: int, steps: Sequence[int] | None, most: int) -> tuple[Launches, list[Note]]:
    answer, marks, work = _nothing(), step_marks(store, rank), work_of(store, rank)
    if not len(work.slice):
        return answer, [Note("no_device_work", rank=rank)]
    idle = idle_of(store, rank)
    launched = idle.launched

    def asked(row: Idle | Activity | StepLaunches | Statistics | Sync | Pause | GetNext) -> bool:
        return not steps or row.step in steps

    answer.idle.extend(filter(asked, idle_rows(rank, idle, step_parts(store, rank)["free_ns"].fill_null(0).to_numpy())))
    answer.activities.extend(filter(asked, activity_rows(rank, idle)))
    answer.gaps.extend(gap_rows(rank, idle, steps, most))
    answer.queue.extend(queues(store, rank, launched))
    answer.steps.extend(filter(asked, _step_rows(rank, idle, marks)))
    answer.statistics.extend(filter(asked, statistics_rows(rank, launched)))
    answer.syncs.extend(filter(asked, sync_rows(rank, idle, marks)))
    answer.gc_pauses.extend(filter(asked, pause_rows(rank, launched, marks)))
    answer.get_next.extend(filter(asked, get_next_rows(rank, launched, data_waits(store, rank))))
    notes = _notes(rank, work.on_device, launched)
    return answer, notes if idle.periods.known.any() else [*notes, Note("no_compute_recorded", rank=rank)]


def _step_rows(rank: int, idle: RankIdle, marks: pl.DataFrame) -> list[StepLaunches]:
    if not len(idle.launched.first):
        return []
    launched = latency.by_step(idle.launched, _waiting_for_host(idle))
    rows = marks.select("step", "warm_up").join(launched, on="step", how="left", maintain_order="left")
    filled = rows.with_columns(pl.col("launches", "kernels").fill_null(0), rank=pl.lit(rank))
    return typed(filled.select(StepLaunches.__struct_fields__).to_dicts(), list[StepLaunches])


def _waiting_for_host(idle: RankIdle) -> dict[int, float]:
    """Per step the share of its period in which the device waited for something that its host does."""
    periods = idle.periods
    waited, lasts = idle.cause[:, [DATA, HOST, SYNC, GC]].sum(axis=1), periods.end - periods.start
    known = periods.known & (lasts > 0)
    return dict(zip(periods.step[known].tolist(), (waited[known] / lasts[known]).tolist(), strict=True))


def _notes(rank: int, on_device: bool, work: Launched) -> list[Note]:
    if not on_device:
        return [Note("host_operators_are_work", rank=rank), Note("launches_without_device", rank=rank)]
    unknown = int(((work.call == NONE) & ~work.on_host).sum())
    if unknown == len(work.slice) - int(work.on_host.sum()):
        return [Note("launches_not_recorded", rank=rank)]
    return [Note("launches_of_some_unknown", rank=rank, count=unknown)] if unknown else []
