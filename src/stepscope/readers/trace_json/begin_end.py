"""Slices from pairs of begin and end events: nested ones per thread, asynchronous ones by id."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int64s
from stepscope.readers.trace_json.codes import Codes
from stepscope.store.notes import Notes

_BEGINS: Final = tuple(map(ord, "BbS"))
_NESTED: Final = tuple(map(ord, "BE"))
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Pairs(NamedTuple):
    """``slices``: index, track, category, name, start, duration of each begin; ``end``: index of its end, or NONE."""

    slices: tuple[npt.NDArray[Any], ...]
    end: Int64s


def pair(columns: tuple[npt.NDArray[Any], ...], tracks: Codes, notes: Notes, file: str) -> Pairs:
    """``columns``: index, track, category, name, time, id, phase.

    A begin without end lasts to the last moment seen on its track; an end without begin is dropped.
    """
    usable = columns[4] != NULL
    notes.add("event_without_time", file=file, count=int((~usable).sum()))
    index, track, category, name, time, ids, phase = (column[usable] for column in columns)
    begins, nested = np.isin(phase, _BEGINS), np.isin(phase, _NESTED)
    order = np.lexsort((index, time))
    keys = list(tracks)
    end = np.full(len(index), NONE, np.int64)
    left = [_match(order[nested[order]], track, begins, end)]
    # An id holds in the whole file, yet files merged from several processes count anew in each. So only what has
    # no partner in its own process is looked for in the others.
    processes = Codes()
    process = np.array([processes[key[0]] for key in keys] or [0], np.int64)[track]
    operation = _groups(category, ids)
    rest = _match(order[~nested[order]], _groups(operation, process), begins, end)
    left.append(_match(rest, operation, begins, end))
    is_open = np.zeros(len(index), np.bool_)
    is_open[np.concatenate(left)] = True
    notes.add("end_without_begin", file=file, count=int((is_open & ~begins).sum()))
    is_open &= begins
    notes.add("begin_without_end", file=file, count=int(is_open.sum()))
    last = np.full(len(keys), NULL, np.int64)
    np.maximum.at(last, track, time)
    dur = np.where(is_open, last[track], time[end]) - time
    track_of_slice = track.copy()
    for begin in np.flatnonzero(begins & ~nested).tolist():
        pid, thread, *_ = keys[track[begin]]
        track_of_slice[begin] = tracks[pid, f"{thread} (async)"]
    slices = tuple(column[begins] for column in (index, track_of_slice, category, name, time, dur))
    return Pairs(slices, np.where(end == NONE, NONE, index[end])[begins])


def pair_details(pairs: Pairs, arguments: dict[int, bytes]) -> pl.DataFrame:
    """Rows of ``details``: the ``arguments`` of begins and ends, by event, under the slice that they make."""
    if not arguments:
        return pl.DataFrame()
    slices = pairs.slices[0]
    having = np.fromiter(arguments, np.int64, len(arguments))
    chosen = np.isin(slices, having) | np.isin(pairs.end, having)
    rows = {
        begin: _merged(arguments.get(begin, b""), arguments.get(end, b""))
        for begin, end in sorted(zip(slices[chosen].tolist(), pairs.end[chosen].tolist(), strict=True))
    }
    texts = pl.Series([text.decode("utf-8", "replace") for text in rows.values()], dtype=pl.String)
    return pl.DataFrame({"slice": pl.Series(list(rows), dtype=pl.Int64), "json": texts})


def _match(rows: Int64s, group: npt.NDArray[np.signedinteger[Any]], begins: Bools, end: Int64s) -> Int64s:
    """Fill ``end`` of each begin whose end is there: the last open one of its group. Gives what has no partner.

    ``rows`` are in time order.
    """
    waiting: dict[int, list[int]] = {}
    alone: list[int] = []
    for row, key, is_begin in zip(rows.tolist(), group[rows].tolist(), begins[rows].tolist(), strict=True):
        if is_begin:
            waiting.setdefault(key, []).append(row)
        elif waiting.get(key):
            end[waiting[key].pop()] = row
        else:
            alone.append(row)
    for still in waiting.values():
        alone += still
    left = np.zeros(len(end), np.bool_)
    left[alone] = True
    return rows[left[rows]]


def _groups(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> Int64s:
    """The same number where both columns are the same."""
    _, one = np.unique(first, return_inverse=True)
    others, other = np.unique(second, return_inverse=True)
    numbers: Int64s = one * np.int64(len(others)) + other
    return numbers


def _merged(begin: bytes, end: bytes) -> bytes:
    """Both objects in one; where both have a key, the end says how it came out."""
    if not begin or not end:
        return begin or end
    try:
        return msgspec.json.encode(_OBJECT.decode(begin) | _OBJECT.decode(end))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return begin
