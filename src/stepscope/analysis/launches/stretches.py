"""Idle time of the device as entries of the answer: by cause, by what the host did, and the longest gaps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity import CATEGORIES
from stepscope.analysis.foundation.idle import CAUSES, SYNC, RankIdle
from stepscope.analysis.launches.types import Activity, Gap, Idle
from stepscope.arrays import NONE, Int64s


def idle_rows(rank: int, idle: RankIdle, free: Int64s) -> list[Idle]:
    """One entry per step of which the work is known; ``free`` is how long each had no work of its own in its span."""
    periods, gaps, count = idle.periods, idle.gaps, len(idle.periods.step)
    total, cause = idle.cause.sum(axis=1), idle.cause
    lead = gaps.per_period(np.where(gaps.lead, gaps.length, 0), count)
    # Inside its span a step is free of its own work; some of that time the device worked for another step.
    other_step = free - (total - lead)
    after_sync = gaps.per_period(np.where(gaps.blocked == NONE, 0, gaps.cause[:, SYNC]), count)
    number = np.bincount(gaps.period, minlength=count)
    rows = []
    for index in np.flatnonzero(periods.known).tolist():
        by_cause = {f"{name}_us": int(cause[index, column]) / 1000 for column, name in enumerate(CAUSES)}
        rows.append(
            Idle(
                rank=rank,
                step=int(periods.step[index]),
                span_us=int(periods.end[index] - periods.start[index]) / 1000,
                idle_us=int(total[index]) / 1000,
                free_us=int(free[index]) / 1000,
                lead_us=int(lead[index]) / 1000,
                other_step_us=int(other_step[index]) / 1000,
                **by_cause,
                kernel_us=by_cause["dependency_us"],
                other_us=by_cause["unknown_us"],
                after_sync_us=int(after_sync[index]) / 1000,
                gaps=int(number[index]),
            )
        )
    return rows


def activity_rows(rank: int, idle: RankIdle) -> list[Activity]:
    """Per step what the host did while the device waited for it, the largest first."""
    periods = idle.periods
    spent = idle.gaps.per_period(idle.gaps.activity, len(periods.step))
    rows = []
    for index in range(len(periods.step)):
        whole = int(spent[index].sum())
        for number in np.argsort(-spent[index], kind="stable").tolist():
            part = int(spent[index, number])
            if part:
                rows.append(Activity(rank, int(periods.step[index]), CATEGORIES[number], part / 1000, part / whole))
    return rows


def gap_rows(rank: int, idle: RankIdle, steps: Sequence[int] | None, most: int) -> list[Gap]:
    """The longest gaps of these steps, or of all, longest first."""
    gaps, work, host = idle.gaps, idle.launched, idle.host
    step = idle.periods.step[gaps.period]
    asked = np.flatnonzero(np.isin(step, list(steps))) if steps else np.arange(len(step))
    chosen = asked[np.argsort(-gaps.length[asked], kind="stable")[:most]]
    threads = [thread[chosen] for thread in gaps.threads]
    telling = host.dominant(threads, gaps.start[chosen], gaps.end[chosen])
    doing = host.split(threads, gaps.start[chosen], gaps.end[chosen])
    names = _names(host.name, host.row_of(telling))
    rows = []
    for number, gap in enumerate(chosen.tolist()):
        cause, activity = int(gaps.cause[gap].argmax()), int(doing[number].argmax())
        call, follower, previous = int(gaps.blocked[gap]), int(gaps.next[gap]), int(gaps.previous[gap])
        rows.append(
            Gap(
                rank=rank,
                step=int(step[gap]),
                start_ns=int(gaps.start[gap]),
                duration_us=int(gaps.length[gap]) / 1000,
                lead=bool(gaps.lead[gap]),
                cause=CAUSES[cause],
                cause_us=int(gaps.cause[gap, cause]) / 1000,
                activity=CATEGORIES[activity],
                activity_us=int(doing[number, activity]) / 1000,
                host_slice=int(telling[number]) if telling[number] != NONE else None,
                host_name=names[number],
                sync_slice=int(idle.calls.slice[call]) if call != NONE else None,
                sync_name=str(idle.calls.name[call]) if call != NONE else None,
                previous_slice=int(work.slice[previous]) if previous != NONE else None,
                previous_name=_name(work.name, previous),
                next_slice=int(work.slice[follower]) if follower != NONE else None,
                next_name=_name(work.name, follower),
            )
        )
    return rows


def _names(names: pl.Series, indices: Int64s) -> list[str | None]:
    return [_name(names, index) for index in indices.tolist()]


def _name(names: pl.Series, index: int) -> str | None:
    name = names[index] if index != NONE else None
    return None if name is None else str(name)
