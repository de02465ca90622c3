"""Kernels that a graph launched, joined to the calls that were captured: their operators, modules, shapes and stacks.

A launch owns all kernels of its graph, in the order of the graph: by the number of their node where that is recorded,
else by time, which tells the order only on one stream. A captured graph fits if it has as many calls, of the same
kinds, and with the same kernels where the calls state them. Where several fit, the size of the batch decides; what is
left undecided is not told.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import NULL, Int64s
from stepscope.facts.kineto import kineto_facts
from stepscope.readers.kineto.graph_captures import (
    CapturedCall,
    CapturedGraph,
    DescribedTrace,
    stated_size,
)
from stepscope.readers.kineto.graph_spans import called
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.store.notes import Notes

_TEXTS: Final = ("operator", "module", "input_shapes", "dtypes")
_DESCRIBING: Final = (*_TEXTS, "frames")


@dataclass(frozen=True)
class GraphLaunch:
    """One launch: positions of its device slices, in the order of the graph if that is known."""

    tasks: Int64s
    names: tuple[str, ...]
    copies: tuple[bool, ...]
    streams: tuple[int, ...]
    ordered: bool
    size: int | None


@dataclass
class JoinedGraphs:
    """What is known of each device slice that a graph launched (None: nothing), and of how much nothing is known."""

    call_of: dict[int, CapturedCall | None]
    parts: list[tuple[int, int]]  # first slice of an operator, and another slice of the same

    @property
    def joined(self) -> int:
        return sum(call is not None and call.operator is not None for call in self.call_of.values())

    def note(self, notes: Notes, file: str, captured: int) -> None:
        """Say how many kernels have operators now, and how many have none."""
        notes.add("graph_kernels_joined", file=file, count=self.joined, graphs=captured)
        missing = len(self.call_of) - self.joined
        notes.add("graph_kernels_unmatched" if captured else "graph_not_captured", file=file, count=missing)

    def links(self, slices: SliceTable) -> pl.DataFrame:
        """Rows of ``links`` from the first slice of an operator to the others."""
        pairs = np.array(self.parts, np.int64).reshape(-1, 2)
        kinds = ["same_operator"] * len(pairs)
        return pl.DataFrame(
            {"kind": kinds, "from_slice": slices.id[pairs[:, 0]], "to_slice": slices.id[pairs[:, 1]]},
            schema_overrides={"kind": pl.String},
        )

    def describe(self, slices: SliceTable, stacks: pl.DataFrame) -> pl.DataFrame:
        """Fill the columns of slices that graphs launched; gives the stacks to add to the table."""
        calls = {task: call for task, call in self.call_of.items() if call is not None}
        for column in _TEXTS:
            codes, texts = slices.texts[column]
            number = {text: code for code, text in enumerate(texts) if text is not None}
            texts, codes = list(texts), codes.astype(np.int64)
            for task, call in calls.items():
                if (text := getattr(call, column)) is not None:
                    if text not in number:
                        number[text] = len(texts)
                        texts.append(text)
                    codes[task] = number[text]
            slices.texts[column] = (codes, texts)
        known = {frames: stack for stack, frames in stacks.iter_rows()}
        first_new = len(known)
        for task, call in calls.items():
            if call.frames is not None:
                slices.integers["stack"][task] = known.setdefault(call.frames, len(known))
        new = {stack: frames for frames, stack in known.items() if stack >= first_new}
        return pl.DataFrame(
            {"stack": list(new), "frames": list(new.values())}, schema={"stack": pl.Int64, "frames": pl.String}
        )


def joined_graphs(trace: DescribedTrace, node: Int64s, graphs: Sequence[CapturedGraph]) -> JoinedGraphs:
    """Join all launches of graphs in a trace; ``node`` is the number of each slice's node, NULL where unknown."""
    known = JoinedGraphs({}, [])
    calls_of: dict[tuple[object, ...], list[CapturedCall] | None] = {}  # launches of one graph are alike
    shapes = _by_length(graphs)
    for launch in graph_launches(trace, node):
        alike = (launch.names, launch.copies, () if launch.ordered else launch.streams, launch.size)
        if alike not in calls_of:
            calls_of[alike] = _calls_of(launch, shapes[len(launch.tasks)])
        calls: Sequence[CapturedCall | None] = calls_of[alike] or [None] * len(launch.tasks)
        first_of: dict[int, int] = {}
        for task, call in zip(launch.tasks.tolist(), calls, strict=True):
            known.call_of[task] = call
            if call is not None and call.operator is not None:
                first = first_of.setdefault(call.occurrence, task)
                known.parts += [(first, task)] if first != task else []
    return known


def graph_launches(trace: DescribedTrace, node: Int64s) -> Iterator[GraphLaunch]:
    """The launches of graphs that are in the trace with what they launched."""
    slices, launch = trace.slices, trace.joins.launch
    names = kineto_facts().graphs
    is_launch = np.append(called(slices, names.launches), False)
    tasks = np.flatnonzero(is_launch[launch])
    if not len(tasks):
        return
    stream = slices.integers["stream"]
    copying = slices.is_kind("copy")
    copies_as_kernel = re.compile(names.copy_kernels).search
    by_launch = tasks[np.lexsort((slices.start[tasks], launch[tasks]))]
    for own in np.split(by_launch, np.flatnonzero(np.diff(launch[by_launch])) + 1):
        numbered = bool((node[own] != NULL).all() and len(np.unique(node[own])) == len(own))
        ordered = own[np.argsort(node[own], kind="stable")] if numbered else own
        words = tuple(trace.name(task) for task in ordered.tolist())
        yield GraphLaunch(
            ordered,
            words,
            tuple(
                bool(copying[task]) or bool(copies_as_kernel(word)) for task, word in zip(ordered, words, strict=True)
            ),
            tuple(stream[ordered].tolist()),
            numbered or len(np.unique(stream[own])) == 1,
            stated_size(trace.around(int(launch[own[0]])), names.launched_sizes),
        )


def _by_length(graphs: Sequence[CapturedGraph]) -> defaultdict[int, list[CapturedGraph]]:
    lengths: defaultdict[int, list[CapturedGraph]] = defaultdict(list)
    for graph in graphs:
        lengths[len(graph.calls)].append(graph)
    return lengths


def _calls_of(launch: GraphLaunch, graphs: Sequence[CapturedGraph]) -> list[CapturedCall] | None:
    """The captured call of each slice of a launch, None where no graph fits."""
    fitting = [(graph, calls) for graph in graphs if (calls := _fitted(launch, graph)) is not None]
    sizes = sorted({graph.size for graph, _ in fitting if graph.size is not None})
    if len(fitting) > 1 and launch.size is not None and sizes:
        taken = next((size for size in sizes if size >= launch.size), None)
        fitting = [(graph, calls) for graph, calls in fitting if graph.size == taken] or fitting
    return [_common(calls) for calls in zip(*(calls for _, calls in fitting), strict=True)] or None


def _fitted(launch: GraphLaunch, graph: CapturedGraph) -> list[CapturedCall] | None:
    """The calls of a graph in the order of the launch's slices, None if it is another graph."""
    if launch.ordered:
        fits = all(
            call.copies == copies and call.kernel in (None, name)
            for call, name, copies in zip(graph.calls, launch.names, launch.copies, strict=True)
        )
        return list(graph.calls) if fits else None
    return _by_name(launch, graph)


def _by_name(launch: GraphLaunch, graph: CapturedGraph) -> list[CapturedCall] | None:
    """The same where streams ran side by side, so that time does not tell the order of kernels of different names.

    Kernels of one name are in order if they ran on one stream; else all that is told of them is what they have in
    common, without shapes, because it is open which of them work for one operator.
    """
    if Counter(call.kernel for call in graph.calls) != Counter(launch.names):
        return None
    streams: dict[str, set[int]] = defaultdict(set)
    for name, stream in zip(launch.names, launch.streams, strict=True):
        streams[name].add(stream)
    waiting: dict[str, list[CapturedCall]] = defaultdict(list)
    for call in reversed(graph.calls):
        waiting[call.kernel or ""].append(call)
    for name, calls in waiting.items():
        if len(streams[name]) > 1:
            common = replace(_common(calls), input_shapes=None, dtypes=None)
            waiting[name] = [replace(common, occurrence=call.occurrence) for call in calls]
    return [waiting[name].pop() for name in launch.names]


def _common(calls: Sequence[CapturedCall]) -> CapturedCall:
    """What all of these say; where they differ, None stands for it."""
    first = calls[0]
    differing = [field for field in _DESCRIBING if any(getattr(call, field) != getattr(first, field) for call in calls)]
    nothing: dict[str, Any] = dict.fromkeys(differing)
    return replace(first, **nothing)
