"""Arrows to draw: those of some slices, or those of a window, sampled so that each pair of places has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.timeline.rows import RowRange, chosen_rows
from stepscope.analysis.timeline.view import TimelineView
from stepscope.arrays import NONE, Int64s

MOST_FLOWS: Final = 2_000


@dataclass(frozen=True)
class SliceId:
    rank: int
    slice: int


@dataclass(frozen=True)
class Flows:
    """Columns of equal length; ``total`` counts also what was not drawn. Times since the run's origin."""

    total: int
    shown: int
    rank: list[int]
    kind: list[str]
    from_slice: list[int]
    from_row: list[int]
    from_at_ns: list[int]
    from_dur_ns: list[int]
    to_slice: list[int]
    to_row: list[int]
    to_at_ns: list[int]
    to_dur_ns: list[int]


def flows_of_slices(
    view: TimelineView, slices: Sequence[SliceId], kinds: list[str] | None = None, limit: int = MOST_FLOWS
) -> Flows:
    """The links that begin or end at some slices."""
    parts = []
    for rank in dict.fromkeys(each.rank for each in slices):
        own = view.columns(rank).positions([each.slice for each in slices if each.rank == rank])
        links = view.links(rank)
        wanted = links.of_kinds(kinds)
        own = own[own != NONE]
        parts.append((rank, wanted[np.isin(links.source[wanted], own) | np.isin(links.target[wanted], own)]))
    frame = _frame(view, parts)
    return _flows(frame.height, frame.head(limit))


def flows_in_window(
    view: TimelineView,
    from_ns: int,
    to_ns: int,
    rows: Sequence[RowRange],
    kinds: list[str] | None = None,
    limit: int = MOST_FLOWS,
    bins: int = 1000,
) -> Flows:
    """The links of which one end at least lies in a window of some rows; one of those that look alike."""
    parts = []
    for rank, numbers in chosen_rows(view, rows).items():
        columns, links = view.columns(rank), view.links(rank)
        shown = np.zeros(columns.rows, bool)
        shown[numbers] = True
        inside = np.zeros(len(links.kind), bool)
        for column in (links.source, links.target):
            end = column.astype(np.int64)
            start, finish = columns.start[end], columns.end(end)
            meets = (start < to_ns) & ((finish > from_ns) | (start >= from_ns))
            inside |= meets & shown[columns.row_of(end)]
        wanted = links.of_kinds(kinds)
        parts.append((rank, wanted[inside[wanted]]))
    frame = _frame(view, parts)
    width = max(1, (to_ns - from_ns) // max(1, bins))
    cells = [
        ((pl.col(f"{end}_at_ns") - from_ns) // width).clip(-1, bins).alias(f"{end}_cell") for end in ("from", "to")
    ]
    keys = ["rank", "kind", "from_row", "to_row", "from_cell", "to_cell"]
    sampled = frame.with_columns(cells).unique(keys, keep="first", maintain_order=True)
    if sampled.height > limit:
        sampled = sampled[np.unique(np.linspace(0, sampled.height - 1, limit).astype(np.int64)).tolist()]
    return _flows(frame.height, sampled)


def _frame(view: TimelineView, parts: list[tuple[int, Int64s]]) -> pl.DataFrame:
    frames = [_rank_frame(view, rank, chosen) for rank, chosen in parts]
    return pl.concat(frames) if frames else _rank_frame_of_nothing()


def _rank_frame(view: TimelineView, rank: int, chosen: Int64s) -> pl.DataFrame:
    columns, links = view.columns(rank), view.links(rank)
    kinds = pl.Series(links.kinds, dtype=pl.String).gather(links.kind[chosen])
    fields = {"rank": np.full(len(chosen), rank, np.int64), "kind": kinds}
    for end, column in (("from", links.source), ("to", links.target)):
        position = column[chosen].astype(np.int64)
        fields[f"{end}_slice"] = columns.slice[position].astype(np.int64)
        fields[f"{end}_row"] = columns.row_of(position)
        fields[f"{end}_at_ns"] = columns.start[position]
        fields[f"{end}_dur_ns"] = columns.duration(position)
    return pl.DataFrame(fields).sort("from_at_ns", "to_at_ns", maintain_order=True)


def _rank_frame_of_nothing() -> pl.DataFrame:
    numbers = [f"{end}_{what}" for end in ("from", "to") for what in ("slice", "row", "at_ns", "dur_ns")]
    return pl.DataFrame(schema={"rank": pl.Int64, "kind": pl.String} | dict.fromkeys(numbers, pl.Int64))


def _flows(total: int, shown: pl.DataFrame) -> Flows:
    names = [name for name in Flows.__dataclass_fields__ if name not in ("total", "shown")]
    return Flows(total, shown.height, **{name: shown[name].to_list() for name in names})
