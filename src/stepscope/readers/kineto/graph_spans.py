"""When a graph of a device is captured: between two calls of a thread."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stepscope.arrays import Bools
from stepscope.facts.kineto import kineto_facts
from stepscope.readers.slices.slice_table import SliceTable


@dataclass(frozen=True)
class CaptureSpan:
    """One capture: between two calls of a thread."""

    begin: int  # position of the call that begins it
    start_ns: int
    end_ns: int


def capture_spans(slices: SliceTable) -> list[CaptureSpan]:
    """The captures of a trace, in order of time; one that never ends has no graph."""
    names = kineto_facts().graphs
    begins, ends = (np.flatnonzero(called(slices, pattern)) for pattern in (names.begins, names.ends))
    spans = []
    for begin in begins[np.argsort(slices.start[begins], kind="stable")].tolist():
        later = ends[(slices.track[ends] == slices.track[begin]) & (slices.start[ends] >= slices.end[begin])]
        if len(later):
            spans.append(CaptureSpan(begin, int(slices.end[begin]), int(slices.start[later].min())))
    return spans


def called(slices: SliceTable, pattern: str) -> Bools:
    """Which slices are calls of the runtime with such a name."""
    runtime = slices.is_kind("runtime")
    used = np.zeros(max(len(slices.names), 1), np.bool_)
    used[slices.name[runtime]] = True
    search, words = re.compile(pattern).search, slices.names.texts()
    for code in np.flatnonzero(used).tolist():
        used[code] = bool(search(words[code] or ""))
    return runtime & used[slices.name]


def inside(slices: SliceTable, spans: Iterable[CaptureSpan]) -> Bools:
    """Operators and calls that were captured rather than executed."""
    captured = np.zeros(len(slices), np.bool_)
    for span in spans:
        captured |= (slices.start >= span.start_ns) & (slices.end <= span.end_ns)
    return captured & slices.is_kind("operator", "runtime")
