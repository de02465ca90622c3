"""Idle time of the device as entries of the answer: by cause, by what the host did, and the longest gaps."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity import CATEGORIES, NONE
from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.launched import Launched
from stepscope.analysis.launches.idle import CAUSES, HOST, Gaps, Windows
from stepscope.analysis.launches.syncs import BlockingCalls
from stepscope.analysis.launches.types import Activity, Gap, Idle
from stepscope.arrays import Int64s


def idle_rows(rank: int, work: Launched, windows: Windows, gaps: Gaps, blocked: Int64s) -> list[Idle]:
    """One entry per step. ``blocked``: per gap the call that held the host when it began, NONE if none did."""
    count = len(windows.step)
    cause = np.stack([_sum(gaps.window, gaps.cause[:, number], count) for number in range(len(CAUSES))], axis=1)
    in_span = ~gaps.lead
    idle = cause.sum(axis=1)
    lead = _sum(gaps.window[gaps.lead], gaps.length[gaps.lead], count)
    own = _own_busy(work, windows)
    free = windows.end - windows.start - own
    # Inside its span a step is free of its own work; some of that time the device worked for another step.
    other_step = free - _sum(gaps.window[in_span], gaps.length[in_span], count)
    after_sync = _sum(gaps.window, np.where(blocked == NONE, 0, gaps.cause[:, HOST]), count)
    number = np.bincount(gaps.window, minlength=count)
    return [
        Idle(
            rank=rank,
            step=int(windows.step[place]),
            span_us=int(windows.end[place] - windows.lead_start[place]) / 1000,
            idle_us=int(idle[place]) / 1000,
            free_us=int(free[place]) / 1000,
            lead_us=int(lead[place]) / 1000,
            other_step_us=int(other_step[place]) / 1000,
            **{f"{name}_us": int(cause[place, column]) / 1000 for column, name in enumerate(CAUSES)},
            after_sync_us=int(after_sync[place]) / 1000,
            gaps=int(number[place]),
        )
        for place in range(count)
    ]


def _own_busy(work: Launched, windows: Windows) -> Int64s:
    """How long a step's own work ran, each step on a place of its own so that one sweep serves all."""
    order = np.argsort(windows.step, kind="stable")
    inside = np.isin(work.step, windows.step)
    index = order[np.searchsorted(windows.step[order], work.step[inside])]
    start = np.clip(work.start[inside], windows.start[index], windows.end[index])
    end = np.clip(work.end[inside], windows.start[index], windows.end[index])
    place = np.concatenate(([0], np.cumsum(windows.end - windows.start)))
    shift = (place[:-1] - windows.start)[index]
    return union(start + shift, end + shift).covered_within(place[:-1], place[1:])


def _sum(key: Int64s, value: Int64s, count: int) -> Int64s:
    """Sums per key, exact: NumPy's weighted count would go through floats."""
    total = np.zeros(count, np.int64)
    np.add.at(total, key, value)
    return total


def activity_rows(rank: int, windows: Windows, gaps: Gaps) -> list[Activity]:
    """Per step what the host did while the device waited for it, the largest first."""
    count = len(windows.step)
    spent = np.stack([_sum(gaps.window, gaps.activity[:, number], count) for number in range(len(CATEGORIES))], axis=1)
    rows = []
    for place in range(count):
        whole = int(spent[place].sum())
        for number in np.argsort(-spent[place], kind="stable").tolist():
            part = int(spent[place, number])
            if part:
                rows.append(Activity(rank, int(windows.step[place]), CATEGORIES[number], part / 1000, part / whole))
    return rows


def gap_rows(
    rank: int, work: Launched, windows: Windows, gaps: Gaps, held: BlockingCalls, blocked: Int64s, most: int
) -> list[Gap]:
    """The longest gaps, longest first."""
    chosen = np.argsort(-gaps.length, kind="stable")[:most]
    host = work.host
    threads = [thread[chosen] for thread in gaps.threads]
    telling = host.dominant(threads, gaps.start[chosen], gaps.end[chosen])
    doing = host.split(threads, gaps.start[chosen], gaps.end[chosen])
    names = _names(host.name, host.place_of(telling))
    rows = []
    for number, place in enumerate(chosen.tolist()):
        cause, activity = int(gaps.cause[place].argmax()), int(doing[number].argmax())
        sync, follower, previous = int(blocked[place]), int(gaps.next[place]), int(gaps.previous[place])
        rows.append(
            Gap(
                rank=rank,
                step=int(windows.step[gaps.window[place]]),
                start_ns=int(gaps.start[place]),
                duration_us=int(gaps.length[place]) / 1000,
                lead=bool(gaps.lead[place]),
                cause=CAUSES[cause],
                cause_us=int(gaps.cause[place, cause]) / 1000,
                activity=CATEGORIES[activity],
                activity_us=int(doing[number, activity]) / 1000,
                host_slice=int(telling[number]) if telling[number] != NONE else None,
                host_name=names[number],
                sync_slice=int(held.slice[sync]) if sync != NONE else None,
                sync_name=str(held.name[sync]) if sync != NONE else None,
                previous_slice=int(work.slice[previous]) if previous != NONE else None,
                previous_name=_name(work.name, previous),
                next_slice=int(work.slice[follower]) if follower != NONE else None,
                next_name=_name(work.name, follower),
            )
        )
    return rows


def _names(names: pl.Series, places: Int64s) -> list[str | None]:
    return [_name(names, place) for place in places.tolist()]


def _name(names: pl.Series, place: int) -> str | None:
    found = names[place] if place != NONE else None
    return None if found is None else str(found)
