"""A model of a step: the recorded operations and their dependencies, with durations as recorded or changed.

Formulas: docs/metrics/cluster.md, "The cluster's slowdown". Every quantity is an array over data-parallel ranks and
steps, so one walk over the operations of a step replays all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final

import numpy as np

from stepscope.analysis.cluster.slowdown.step_operations import Operation, StepOperations
from stepscope.arrays import Int64s
from stepscope.facts.training_operations import training_operations_facts

_DIRECTIONS: Final = ("forward", "backward")
_COMPUTE: Final = tuple(f"{direction}-compute" for direction in _DIRECTIONS)
_TRANSFERS: Final = tuple(f"{direction}-{end}" for direction in _DIRECTIONS for end in ("send", "recv"))

Meeting = tuple[Operation, ...]


class OperationReplay:
    """Operations in an order in which each comes after those it depends on; ``own`` is what each takes itself."""

    def __init__(self, recorded: StepOperations) -> None:
        self._facts = training_operations_facts().operations
        self._before = _dependencies(recorded)
        self._meetings = self._ordered(_meetings(list(recorded.start), self._before))
        self.own: dict[Operation, Int64s] = {}
        for meeting in self._meetings:
            last = np.maximum.reduce([recorded.start[each] for each in meeting])
            for each in meeting:
                start, duration = recorded.start[each], recorded.duration[each]
                # Time before the last member arrives is waiting, which the replay computes anew.
                moves = start + duration - self._with_all(each, last if len(meeting) > 1 else start)
                self.own[each] = np.maximum(moves, 0) if self._facts[each.name].kind == "collective" else duration

    def step_ns(self, durations: Mapping[Operation, Int64s]) -> Int64s:
        """How long each step takes with these durations and no delay between operations."""
        end: dict[Operation, Int64s] = {}
        for meeting in self._meetings:
            starts = [self._start(each, end, durations[each]) for each in meeting]
            last = np.maximum.reduce(starts)
            for each, start in zip(meeting, starts, strict=True):
                end[each] = self._with_all(each, last if len(meeting) > 1 else start) + durations[each]
        return np.asarray(np.maximum.reduce(list(end.values())).max(axis=0), np.int64)

    def _start(self, operation: Operation, end: Mapping[Operation, Int64s], like: Int64s) -> Int64s:
        before = [end[each] for each in self._before[operation]]
        return np.maximum.reduce(before) if before else np.zeros_like(like)

    def _with_all(self, operation: Operation, moment: Int64s) -> Int64s:
        """The moment at which the last data-parallel rank is there, for operations in which all of them meet."""
        return moment.max(axis=0, keepdims=True) if self._facts[operation.name].meets == "dp" else moment

    def _ordered(self, meetings: list[Meeting]) -> list[Meeting]:
        of_operation = {each: meeting for meeting in meetings for each in meeting}
        graph = {
            meeting: {of_operation[before] for each in meeting for before in self._before[each]} - {meeting}
            for meeting in meetings
        }
        return list(TopologicalSorter(graph).static_order())


def replay_of(recorded: StepOperations) -> OperationReplay | None:
    """None where operations depend on each other in a cycle, as with an unknown pipeline schedule."""
    try:
        return OperationReplay(recorded)
    except (CycleError, KeyError):
        return None


def _dependencies(recorded: StepOperations) -> dict[Operation, list[Operation]]:
    """What each operation comes after, in the order of the first data-parallel rank and step."""
    before: dict[Operation, list[Operation]] = {each: [] for each in recorded.start}
    for stage in recorded.stages:
        own = sorted((each for each in before if each.stage == stage), key=lambda each: recorded.start[each][0, 0])
        compute = [each for each in own if each.name in _COMPUTE]
        for name in _TRANSFERS:
            _chain([each for each in own if each.name == name], before)
        _chain(compute, before)
        previous = dict(zip(compute[1:], compute, strict=False))
        gathers = [each for each in own if each.name == "params-all-gather"]
        for each in compute:
            direction = each.name.partition("-")[0]
            receive, send = (Operation(stage, f"{direction}-{end}", each.number) for end in ("recv", "send"))
            if receive in before:
                before[each].append(receive)
                before[receive] += [previous[each]] if each in previous else gathers
            if send in before:
                before[send].append(each)
        _chain(gathers, before)
        before[compute[0]] += gathers
        facts = training_operations_facts().operations
        ending = sorted((each for each in own if facts[each.name].last), key=lambda each: facts[each.name].last)
        _chain([compute[-1], *ending], before)
    return before


def _chain(operations: list[Operation], before: dict[Operation, list[Operation]]) -> None:
    for earlier, later in pairwise(operations):
        before[later].append(earlier)


def _meetings(operations: list[Operation], known: Mapping[Operation, object]) -> list[Meeting]:
    """Operations that can only end together."""
    facts = training_operations_facts().operations
    of_all_stages: dict[tuple[str, int], list[Operation]] = defaultdict(list)
    meetings: list[Meeting] = []
    for each in operations:
        if facts[each.name].meets == "stages":
            of_all_stages[each.name, each.number].append(each)
        elif each.name.endswith("-send"):
            direction = each.name.partition("-")[0]
            peer = Operation(each.stage + (1 if direction == "forward" else -1), f"{direction}-recv", each.number)
            meetings.append((each, peer) if peer in known else (each,))
        elif not each.name.endswith("-recv"):
            meetings.append((each,))
    return [*meetings, *(tuple(each) for each in of_all_stages.values())]
