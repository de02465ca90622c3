"""Operators and kernels by name: which slices a name means, and which names come near to one that is unknown."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import Intervals, union
from stepscope.analysis.replay.rank_graph import RankGraph
from stepscope.arrays import NONE, Bools, Int64s
from stepscope.store.run_store import RunStore

_NAMED_ON_HOST = ("operator", "annotation", "module", "collective")
_NEAR = 5
_LIKENESS = 0.4


def operators_of(store: RunStore, part: RankGraph) -> pl.Series:
    """The operator behind each slice of work as the file names it, also where that operator was not recorded itself."""
    rows = store.scan("slices", [part.rank]).filter(pl.col("operator").is_not_null())
    named = rows.select(pl.col("slice").cast(pl.Int64), pl.col("operator").cast(pl.String)).collect()
    return pl.DataFrame({"slice": part.work.slice}).join(named, on="slice", how="left", maintain_order="left")[
        "operator"
    ]


def names_of(store: RunStore, parts: Iterable[RankGraph]) -> set[str]:
    """All names of work and of operators around it."""
    names: set[str] = set()
    for part in parts:
        on_host = part.host.name.filter(part.host.kind.is_in(_NAMED_ON_HOST))
        for column in (part.work.name, part.work.type, operators_of(store, part), on_host):
            names.update(name for name in column.unique().cast(pl.String).to_list() if name)
    return names


def meant(name: str, names: Iterable[str]) -> set[str]:
    """Those that a name means: itself, else all that hold it, in whatever case.

    >>> sorted(meant("matmul", ["MatMulV2", "aten::matmul", "add"])), meant("ADD", ["add", "add_"])
    (['MatMulV2', 'aten::matmul'], {'add'})
    """
    wanted = name.lower()
    known = list(names)
    same = {each for each in known if each.lower() == wanted}
    return same or {each for each in known if wanted in each.lower()}


def near(name: str, names: Iterable[str]) -> list[str]:
    """Names that look like it."""
    by_small = {each.lower(): each for each in names}
    close = difflib.get_close_matches(name.lower(), by_small, n=_NEAR, cutoff=_LIKENESS)
    return [by_small[each] for each in close]


def named_work(store: RunStore, part: RankGraph, names: set[str]) -> tuple[Int64s, dict[int, Intervals]]:
    """Slices of work with these names or launched by operators with them; and when threads were in such operators."""
    host, work = part.host, part.work
    rows = np.flatnonzero(_is_in(host.name, names) & host.of(*_NAMED_ON_HOST))
    within = {
        int(thread): union(host.start[own], host.end[own])
        for thread in np.unique(host.thread[rows])
        for own in [rows[host.thread[rows] == thread]]
    }
    chosen = _is_in(work.name, names) | _is_in(work.type, names) | _is_in(operators_of(store, part), names)
    for caller in (work.call, work.operator):
        known = np.flatnonzero(caller != NONE)
        calls = caller[known]
        for thread, intervals in within.items():
            inside = (host.thread[calls] == thread) & intervals.contains(host.start[calls])
            chosen[known[inside]] = True
    return work.slice[chosen], within


def _is_in(column: pl.Series, names: set[str]) -> Bools:
    chosen: Bools = column.cast(pl.String).is_in(list(names)).fill_null(False).to_numpy().copy()
    return chosen
