"""Host slices from a store. A thread may have several tracks (Python and CANN in Ascend captures): they become one."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity.categories import OTHER, category_of
from stepscope.analysis.foundation.host_activity.host import Host
from stepscope.analysis.foundation.intervals import Intervals
from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.arrays import NONE, Int8s, Int32s, Int64s
from stepscope.store.run_store import RunStore

_DEVICE_TRACKS: Final = ("stream", "plane", "vendor", "counter")
# Kinds that are never the host's, and marks, which take no time.
_DEVICE_KINDS: Final = ("kernel", "copy", "comm_task", "wait", "reported", "mark")


def host_of(store: RunStore, rank: int, *, windows: Intervals | None = None) -> Host:
    """The host slices of a rank, or those that touch some windows."""
    tracks = store.scan("tracks", [rank]).select("track", pl.col("kind", "thread").cast(pl.String), "order").collect()
    device = tracks.filter(pl.col("kind").is_in(_DEVICE_TRACKS))["track"].to_list()
    slices = slices_of(store, rank).filter(~pl.col("track").is_in(device))
    wanted = ~pl.col("kind").is_in(_DEVICE_KINDS)
    if windows is not None:
        wanted &= _touches(windows)
    columns = ("slice", "track", "row", "start_ns", "dur_ns", "kind", "name")
    rows = slices.filter(wanted).select(columns).collect().rechunk()  # for NumPy, which would copy each column else
    if not _is_sorted(rows):
        rows = rows.sort("track", "row", "start_ns")
    category = _categories(rows)
    # Marks of steps lie around everything and tell nothing but where the training loop runs.
    silent = rows[np.flatnonzero(category == NONE)]
    marked = silent.filter(pl.col("kind") == "step")["track"].to_numpy()
    if len(silent):
        rows, category = rows.filter(pl.Series(category != NONE)), category[category != NONE]
    thread, above = _threads(rows, tracks)
    start, track = rows["start_ns"].to_numpy(), rows["track"].to_numpy()
    return Host(
        slice=rows["slice"].cast(pl.Int64).to_numpy(),
        thread=thread[track],
        depth=rows["row"].to_numpy() + above[track],
        start=start,
        end=start + rows["dur_ns"].to_numpy(),
        category=category,
        kind=rows["kind"],
        name=rows["name"],
        loop=_loop_thread(thread, marked, track, rows["kind"]),
    )


def _touches(windows: Intervals) -> pl.Expr:
    end = pl.col("start_ns") + pl.col("dur_ns")
    pairs = zip(windows.start.tolist(), windows.end.tolist(), strict=True)
    return pl.any_horizontal([(pl.col("start_ns") < last) & (end > first) for first, last in pairs] or [pl.lit(False)])


def _is_sorted(rows: pl.DataFrame) -> bool:
    track, row, start = (rows[name].to_numpy() for name in ("track", "row", "start_ns"))
    new = np.flatnonzero((track[1:] != track[:-1]) | (row[1:] != row[:-1])) + 1
    row_grows = track[new].astype(np.int64) * 2**32 + row[new] > track[new - 1].astype(np.int64) * 2**32 + row[new - 1]
    later = start[1:] >= start[:-1]
    later[new - 1] = row_grows
    return bool(later.all())


def _categories(rows: pl.DataFrame) -> Int8s:
    """Only distinct names are looked at; the rows take theirs from a table."""
    names = rows["name"].to_physical().fill_null(0).to_numpy()
    width = int(names.max(initial=0)) + 1
    pair = rows["kind"].to_physical().cast(pl.Int64).to_numpy() * width + names
    first = np.full(int(pair.max(initial=0)) + 1, NONE, np.int64)
    first[pair] = np.arange(len(pair))
    table = np.full(len(first), OTHER, np.int8)
    first_rows = first[first != NONE]
    words = rows[first_rows].select(pl.col("kind", "name").cast(pl.String).fill_null("")).iter_rows()
    table[pair[first_rows]] = [category_of(kind, name) for kind, name in words]
    chosen: Int8s = table[pair]
    return chosen


def _threads(slices: pl.DataFrame, tracks: pl.DataFrame) -> tuple[Int64s, Int64s]:
    """By track its thread, which is named by its first track, and how many rows of that thread lie above it."""
    track, row = slices["track"].to_numpy(), slices["row"].to_numpy()
    last = np.append(np.flatnonzero(track[1:] != track[:-1]), len(track) - 1) if len(track) else np.empty(0, np.int64)
    rows = dict(zip(track[last].tolist(), (row[last] + 1).tolist(), strict=True))
    known = {number: (name, order) for number, name, order in tracks.select("track", "thread", "order").iter_rows()}
    thread, above = np.full(max(rows, default=0) + 1, NONE, np.int64), np.zeros(max(rows, default=0) + 1, np.int64)
    first: dict[str, int] = {}
    depth: dict[int, int] = {}
    for number in sorted(rows, key=lambda number: (known.get(number, ("", None))[1] or 0, number)):
        own = first.setdefault(known.get(number, ("", None))[0] or f"track {number}", number)
        thread[number], above[number] = own, depth.get(own, 0)
        depth[own] = depth.get(own, 0) + rows[number]
    return thread, above


def _loop_thread(thread: Int64s, marked: Int32s, track: Int32s, kind: pl.Series) -> int:
    """The thread that carries the marks of the steps, else the one with most operators, else with most slices."""
    on_marked = thread[marked[marked < len(thread)]]
    if (on_marked != NONE).any():
        return int(np.bincount(on_marked[on_marked != NONE]).argmax())
    operators = thread[track[(kind == "operator").to_numpy()]]
    candidates = operators if len(operators) else thread[track]
    return int(np.bincount(candidates).argmax()) if len(candidates) else NONE
