"""Slices from pairs of begin and end events: nested ones per thread, asynchronous ones by id."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stepscope.readers.codes import Codes
from stepscope.readers.exact_time import INVALID
from stepscope.store.notes import Notes

_BEGINS: Final = frozenset(map(ord, "BbS"))
_NESTED: Final = frozenset(map(ord, "BE"))


def pair(columns: tuple[npt.NDArray[Any], ...], tracks: Codes, notes: Notes, file: str) -> tuple[npt.NDArray[Any], ...]:
    """``columns``: index, track, category, name, time, id, phase. Gives index, track, category, name, start, duration.

    A begin without end lasts to the last moment seen on its track; an end without begin is dropped.
    """
    usable = columns[4] != INVALID
    notes.add("event_without_time", file=file, count=int((~usable).sum()))
    index, track, category, name, time, ids, phase = (column[usable] for column in columns)
    order = np.lexsort((index, time))
    waiting: dict[Any, list[int]] = {}
    dur = np.full(len(index), INVALID, np.int64)
    track = track.copy()
    keys = list(tracks)
    unmatched = 0
    for place in order.tolist():
        nested = phase[place] in _NESTED
        key = int(track[place]) if nested else (int(category[place]), int(ids[place]), keys[track[place]][0])
        if phase[place] in _BEGINS:
            waiting.setdefault(key, []).append(place)
        elif waiting.get(key):
            begin = waiting[key].pop()
            dur[begin] = time[place] - time[begin]
        else:
            unmatched += 1
    notes.add("end_without_begin", file=file, count=unmatched)
    begins = np.isin(phase, list(_BEGINS))
    is_open = begins & (dur == INVALID)
    notes.add("begin_without_end", file=file, count=int(is_open.sum()))
    last = np.full(len(keys), INVALID, np.int64)
    np.maximum.at(last, track, time)
    dur[is_open] = last[track[is_open]] - time[is_open]
    for place in np.flatnonzero(begins & ~np.isin(phase, list(_NESTED))):
        process, thread = keys[track[place]]
        track[place] = tracks[process, f"{thread} (async)"]
    return tuple(column[begins] for column in (index, track, category, name, time, dur))
