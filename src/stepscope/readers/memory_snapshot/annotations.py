"""Ranges that the program named while the history was recorded, and the steps that they mark."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stepscope.arrays import NULL, Int64s
from stepscope.readers.files.exact_time import LARGEST_NS
from stepscope.readers.files.repair import clean_text
from stepscope.readers.memory_snapshot.final_state import MOST_DEVICES
from stepscope.readers.slices.slice_table import KIND, SliceTable, believable
from stepscope.readers.slices.steps import Steps
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import integers
from stepscope.store.notes import Notes

_PROFILER_STEP: Final = re.compile(r"ProfilerStep\s*#\s*(\d{1,18})$")
_OPTIMIZER_STEP: Final = "Optimizer.step#"
_ZERO_GRADIENTS: Final = "Optimizer.zero_grad#"
_LONGEST_WORD: Final = 1000


def read_annotations(recorded: Any, notes: Notes, file: str) -> SliceTable:
    """The pairs of START and END as slices, one track per device, which is its number."""
    names = Codes()
    rows: list[tuple[int, int, int, int, int]] = []  # number, device, name, start, end
    waiting: dict[tuple[int, int], list[tuple[int, int]]] = {}
    unmatched = dropped = 0
    last = 0
    for number, item in enumerate(recorded if isinstance(recorded, list) else ()):
        if not isinstance(item, dict) or not isinstance(item.get("name"), str) or type(item.get("time_us")) is not int:
            dropped += 1
            continue
        device = item["device"] if type(item.get("device")) is int and 0 <= item["device"] < MOST_DEVICES else 0
        key = device, names[clean_text(item["name"][:_LONGEST_WORD])]
        time = item["time_us"] * 1000
        last = max(last, time)
        if item.get("stage") == "START":
            waiting.setdefault(key, []).append((number, time))
        elif waiting.get(key):
            rows.append((waiting[key][-1][0], *key, waiting[key].pop()[1], time))
        else:
            unmatched += 1
    still = [(number, *key, time, last) for key, begins in waiting.items() for number, time in begins]
    notes.add("snapshot_element_dropped", file=file, count=dropped, what="annotations")
    notes.add("end_without_begin", file=file, count=unmatched)
    notes.add("begin_without_end", file=file, count=len(still))
    return _table(sorted(rows + still), names, notes, file)


def _table(rows: list[tuple[int, int, int, int, int]], names: Codes, notes: Notes, file: str) -> SliceTable:
    number, device, name, start, end = (
        integers([value if abs(value) <= LARGEST_NS else NULL for value in column])
        for column in (zip(*rows, strict=True) if rows else [()] * 5)
    )
    usable = (start != NULL) & (end != NULL)
    keep, dur = believable(np.where(usable, start, NULL), np.where(usable, end - start, 0), notes, file)
    is_step = np.array([bool(_PROFILER_STEP.match(str(word))) for word in names] or [False])
    kind = np.where(is_step[name], KIND["step"], KIND["annotation"]).astype(np.int8)
    return SliceTable(
        number[keep],
        device[keep].astype(np.int32),
        start[keep],
        dur[keep],
        name[keep].astype(np.int32),
        names,
        kind[keep],
    )


def marked_steps(
    slices: SliceTable, device: int, window: tuple[int, int]
) -> tuple[Steps, npt.NDArray[np.bool_] | None]:
    """Steps and, where known, which are incomplete: from the profiler's marks, else from those of optimizers.

    Every device carries the same marks, so those of one are enough. ``window`` is the first and the last moment.
    """
    words = [str(word) for word in slices.names]
    own = np.flatnonzero(slices.track == device)
    own = own[np.argsort(slices.start[own], kind="stable")]
    own_words = [words[name] for name in slices.name[own].tolist()]
    matches = [_PROFILER_STEP.match(word) for word in own_words]
    if any(matches):
        marks = own[[match is not None for match in matches]]
        number = np.array([int(match[1]) for match in matches if match], np.int64)
        return Steps(number, slices.start[marks], slices.end[marks], "profiler_step"), None
    clears = own[[word.startswith(_ZERO_GRADIENTS) for word in own_words]]
    updates = own[[word.startswith(_OPTIMIZER_STEP) for word in own_words]]
    if not len(updates):
        nothing = np.empty(0, np.int64)
        return Steps(nothing, nothing, nothing, "optimizer"), np.empty(0, bool)
    first, last = window
    if len(clears) and slices.start[clears[0]] < slices.start[updates[0]]:
        begins, ends, incomplete = _from_clearing(slices.start[clears], slices.start[updates], last)
    else:
        begins, ends, incomplete = _to_updating(slices.end[updates], first, last)
    return Steps(np.arange(1, len(begins) + 1, dtype=np.int64), begins, ends, "optimizer"), incomplete


def _from_clearing(clears: Int64s, updates: Int64s, last: int) -> tuple[Int64s, Int64s, npt.NDArray[np.bool_]]:
    """A loop that clears its gradients first: each clearing after an update begins a step."""
    done = np.searchsorted(updates, clears)
    begins = clears[np.append(True, np.diff(done) > 0)]  # of two optimizers cleared in a row, the first
    incomplete = np.zeros(len(begins), bool)
    incomplete[-1] = not (updates >= begins[-1]).any()
    return begins, np.append(begins[1:], last + 1), incomplete


def _to_updating(ends: Int64s, first: int, last: int) -> tuple[Int64s, Int64s, npt.NDArray[np.bool_]]:
    """A loop whose update comes first: each update ends a step; the window began inside the first."""
    begins = np.append(first, ends[:-1])
    incomplete = np.arange(len(ends)) == 0
    if last > ends[-1]:
        return np.append(begins, ends[-1]), np.append(ends, last + 1), np.append(incomplete, True)
    return begins, ends, incomplete
