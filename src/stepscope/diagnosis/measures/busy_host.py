"""Where in the program the host was while the device waited for it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity import Host
from stepscope.analysis.foundation.idle import HOST, RankIdle, idle_of
from stepscope.analysis.memory.sites import is_own_frame, without_address, without_folders
from stepscope.arrays import NONE, Bools, Int64s
from stepscope.diagnosis.finding import Where
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.facts.compute_roles import compute_roles_facts
from stepscope.facts.findings import finding_facts
from stepscope.store.run_store import RunStore

#: What built-in functions are called in Python frames: <built-in method norm of Tensor object>.
_BUILT_IN: Final = re.compile(r"^<built-in (?:method|function) (\S+).*>$")


@dataclass(frozen=True)
class BusyPlace:
    """A marked range (``Optimizer.step#AdamW.step``), or a function of the program with what it was calling.

    ``share`` is the part of the waiting for the host that falls into it.
    """

    name: str
    callee: str | None
    share: float
    is_code: bool

    @property
    def where(self) -> Where:
        return Where(site=self.in_words) if self.is_code else Where(operator=self.name)

    @property
    def in_words(self) -> str:
        return f"{self.name} → {self.callee}" if self.callee else self.name


def busy_place(store: RunStore, time: RankTime) -> BusyPlace | None:
    """The place with the largest part of a rank's waiting for the host; None where none stands out."""
    idle = idle_of(store, time.rank)
    counted = np.isin(idle.periods.step[idle.gaps.period], time.steps)
    waited = np.where(counted, idle.gaps.cause[:, HOST], 0)
    gaps = np.flatnonzero(waited)
    if not len(gaps):
        return None
    middle = idle.gaps.start[gaps] + idle.gaps.length[gaps] // 2
    places = [*_ranges(idle, middle, waited[gaps]), *_functions(idle.host, middle, waited[gaps])]
    telling = [place for place in places if place.share >= finding_facts().host_bound.least_share_in_place]
    return max(telling, key=lambda place: place.share, default=None)


def is_mostly_between_operators(store: RunStore, time: RankTime) -> bool:
    """Whether a host that computes by itself loses its time on the way from one operator to the next.

    That takes a framework microseconds each time; other code that matters makes longer gaps.
    """
    idle = idle_of(store, time.rank)
    counted = np.isin(idle.periods.step[idle.gaps.period], time.steps)
    waited = np.where(counted, idle.gaps.cause[:, HOST], 0)
    short = idle.gaps.length < finding_facts().host_bound.longest_way_us * 1000
    return 2 * int(waited[short].sum()) > int(waited.sum())


def calling_place(store: RunStore, time: RankTime, call: str) -> BusyPlace | None:
    """What most of the time in blocking calls of this name goes back to: a function of the program, where stacks were
    recorded, else the outermost operator that asked for it, such as ``aten::nonzero``.
    """
    idle = idle_of(store, time.rank)
    calls = idle.calls
    named = (calls.name == call).to_numpy()
    length = calls.end - calls.start
    in_loop = named & (calls.thread == idle.host.loop)
    places = _functions(idle.host, calls.start[in_loop], length[in_loop]) or _operators(idle, named, length)
    telling = [place for place in places if place.share >= finding_facts().host_bound.least_share_in_place]
    return max(telling, key=lambda place: place.share, default=None)


def _ranges(idle: RankIdle, moments: Int64s, waited: Int64s) -> list[BusyPlace]:
    """Outermost marked ranges of the training loop, without those that a whole step runs in."""
    host = idle.host
    marked = (host.thread == host.loop) & host.of("annotation")
    whole_ns = int((idle.periods.end - idle.periods.start).sum())
    most_ns = finding_facts().host_bound.most_share_of_step * whole_ns
    waited_in: dict[str, int] = defaultdict(int)
    for row, ns in _sums(host.covering(marked, moments, innermost=False), waited):
        waited_in[str(host.name[row])] += ns
    return [
        BusyPlace(name, None, ns / int(waited.sum()), is_code=False)
        for name, ns in waited_in.items()
        if _length_ns(host, marked & (host.name == name).to_numpy()) < most_ns
    ]


def _length_ns(host: Host, chosen: Bools) -> int:
    return int((host.end[chosen] - host.start[chosen]).sum())


def _functions(host: Host, moments: Int64s, waited: Int64s) -> list[BusyPlace]:
    """Functions of the program itself in the training loop, with what they called, as far as stacks were recorded."""
    frames = (host.thread == host.loop) & host.of("python")
    if not frames.any():
        return []
    names = host.name.filter(frames).unique().to_list()
    own_names = [name for name in names if is_own_frame(name)]
    own = frames & host.name.is_in(own_names).to_numpy()
    function = host.covering(own, moments, innermost=True)
    waited_in: dict[tuple[str, str | None], int] = defaultdict(int)
    for depth in np.unique(host.depth[function[function != NONE]]).tolist():
        at = np.flatnonzero((function != NONE) & (host.depth[function] == depth))
        callee = host.covering(frames & (host.depth > depth), moments[at], innermost=False)
        pairs = zip(function[at].tolist(), callee.tolist(), waited[at].tolist(), strict=True)
        for row, called, ns in pairs:
            waited_in[_short(host, row) or "", _short(host, called)] += ns
    return [BusyPlace(name, callee, ns / int(waited.sum()), is_code=True) for (name, callee), ns in waited_in.items()]


def _operators(idle: RankIdle, calls: Bools, length: Int64s) -> list[BusyPlace]:
    """Outermost operators of a library that the calls were made in. Nodes of autograd around them tell less."""
    host, of_library = idle.host, compute_roles_facts().roles.library_operator
    names = host.name.cast(pl.String)
    operators = host.of("operator") & names.str.contains(of_library).fill_null(False).to_numpy()
    waited_in: dict[str, int] = defaultdict(int)
    for thread in np.unique(idle.calls.thread[calls]).tolist():
        own = calls & (idle.calls.thread == thread)
        outermost = host.covering(operators & (host.thread == thread), idle.calls.start[own], innermost=False)
        for row, ns in _sums(outermost, length[own]):
            waited_in[names[row]] += ns
    whole = int(length[calls].sum())
    return [BusyPlace(name, None, ns / whole, is_code=False) for name, ns in waited_in.items() if whole]


def _short(host: Host, row: int) -> str | None:
    if row == NONE:
        return None
    frame = without_address(str(host.name[row]))
    return _BUILT_IN.sub(r"\1", without_folders(frame) if is_own_frame(frame) else frame)


def _sums(rows: Int64s, waited: Int64s) -> list[tuple[int, int]]:
    """What was waited in each row; moments outside of all rows do not count."""
    inside = rows != NONE
    distinct, number = np.unique(rows[inside], return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, number, waited[inside])
    return list(zip(distinct.tolist(), total.tolist(), strict=True))
