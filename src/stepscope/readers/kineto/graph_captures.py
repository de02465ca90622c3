"""Graphs of a device while they are captured: calls with their operators, in the order in which they become nodes.

Nothing runs during a capture. What a graph's kernels work for is known from here alone (``graph_launches.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NONE, NULL
from stepscope.facts.kineto import kineto_facts
from stepscope.readers.kineto.arguments import ArgumentColumns
from stepscope.readers.kineto.graph_spans import called, capture_spans
from stepscope.readers.kineto.trace_slices import Joins, TraceSlices


@dataclass(frozen=True)
class CapturedCall:
    """A call that became a node; None is what its trace does not tell."""

    copies: bool  # memory, rather than to launch a kernel
    kernel: str | None  # HIP states its name
    operator: str | None
    occurrence: int  # of the operator: several calls of one have the same
    module: str | None
    input_shapes: str | None
    dtypes: str | None
    frames: str | None  # call stack, outermost first


@dataclass(frozen=True)
class CapturedGraph:
    """The calls of one capture, and the size of the batch that it was made for, where something tells it."""

    calls: tuple[CapturedCall, ...]
    size: int | None


class DescribedTrace:
    """A trace whose slices are described, as graphs need it: by position, with its texts looked up once."""

    def __init__(self, trace: TraceSlices, joins: Joins, arguments: ArgumentColumns, stacks: pl.DataFrame) -> None:
        self.slices, self.joins = trace.table, joins
        self._kernel = trace.argument["kernel"], [json.loads(text) for text in arguments.texts["kernel"]]
        self._stacks = stacks
        self._words = self.slices.names.texts()
        self._marking = self.slices.is_kind("annotation", "step")

    @cached_property
    def _frames(self) -> dict[int, str]:
        return dict(self._stacks.iter_rows())

    def name(self, position: int) -> str:
        return self._words[self.slices.name[position]] or ""

    def around(self, position: int) -> Iterator[str]:
        """Names of annotations and steps around a slice, innermost first."""
        while (position := int(self.slices.parent[position])) != NONE:
            if self._marking[position]:
                yield self.name(position)

    def captured_call(self, call: int, copies: bool) -> CapturedCall:
        operator = int(self.joins.operator[call])
        stack = int(self.slices.integers["stack"][call])
        return CapturedCall(
            copies,
            _text(self._kernel, call),
            self.name(operator) if operator != NONE else None,
            operator if operator != NONE else NONE - call - 1,
            _text(self.slices.texts["module"], call),
            _text(self.slices.texts["input_shapes"], operator),
            _text(self.slices.texts["dtypes"], operator),
            self._frames.get(stack) if stack != NULL else None,
        )


def captured_graphs(trace: DescribedTrace, file: str) -> list[CapturedGraph]:
    """The graphs that a trace captures, in order of time."""
    slices, joins = trace.slices, trace.joins
    spans = capture_spans(slices)
    if not spans:
        return []
    names = kineto_facts().graphs
    copies = called(slices, names.copy_calls)
    nodes = copies | called(slices, names.kernel_calls)
    nodes[joins.launch[joins.launch != NONE]] = False  # what ran was not captured
    nodes &= ~np.append(nodes, False)[slices.parent]  # a call of the runtime may call the driver's
    graphs = []
    for span in spans:
        calls = np.flatnonzero(nodes & (slices.start >= span.start_ns) & (slices.end <= span.end_ns))
        calls = calls[np.argsort(slices.start[calls], kind="stable")]
        size = stated_size([*trace.around(span.begin), file], names.captured_sizes)
        graphs.append(
            CapturedGraph(tuple(trace.captured_call(call, bool(copies[call])) for call in calls.tolist()), size)
        )
    return [graph for graph in graphs if graph.calls]


def stated_size(texts: Iterable[str], patterns: list[str]) -> int | None:
    """The first number that one of the patterns takes from one of the texts.

    >>> stated_size(["train", "decode[bs=117/128 tok=117]"], [r"^decode\\[bs=\\d+/(\\d+)"])
    128
    """
    hits = (re.search(pattern, text) for text in texts for pattern in patterns)
    return next((int(hit[1]) for hit in hits if hit), None)


def _text(column: tuple[npt.NDArray[Any], list[str | None]], position: int) -> str | None:
    codes, texts = column
    code = int(codes[position]) if position != NONE else -1
    return texts[code] if code >= 0 else None
