"""The graph engine against a walk over every path of small random graphs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from stepscope.analysis.replay.graph import Edges, Graph, graph_of
from stepscope.analysis.replay.nodes import Device, nodes_of

_UNEXPLAINED = 7


def _random_graph(seed: int) -> Graph:
    chance = random.Random(seed)
    count = chance.randint(2, 9)
    time = np.array([1000, *sorted(1000 + chance.randint(0, 30) for _ in range(count - 1))], np.int64)
    pairs = [(chance.randrange(count), chance.randrange(count)) for _ in range(chance.randint(0, 16))]
    source, target = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    floor = np.array([chance.choice([0, 0, 3, 10, 100]) for _ in pairs], np.int64)
    kind = np.array([chance.randrange(3) for _ in pairs], np.int8)
    return graph_of(time, Edges(source, target, floor, kind, np.arange(len(pairs))), unexplained=_UNEXPLAINED)


def _longest(graph: Graph, weight: list[int], node: int) -> int:
    """Length of the longest way to a node, over all ways."""
    into = [edge for edge in range(len(weight)) if graph.target[edge] == node]
    return max((_longest(graph, weight, int(graph.source[edge])) + weight[edge] for edge in into), default=0)


@pytest.mark.parametrize("seed", range(60))
def test_the_earliest_times_are_the_recorded_ones_and_every_node_is_held_up_by_something(seed: int) -> None:
    graph = _random_graph(seed)
    assert (graph.source < graph.target).all()
    assert (graph.weight >= 0).all()
    assert graph.earliest().tolist() == (graph.time - graph.time[0]).tolist()
    assert set(graph.target.tolist()) == set(range(1, len(graph.time)))


@pytest.mark.parametrize("seed", range(60))
def test_a_longest_path_is_as_long_as_the_longest_of_all_paths(seed: int) -> None:
    graph = _random_graph(seed)
    chance = random.Random(seed + 1)
    changed = np.array([chance.randint(0, 20) for _ in graph.weight], np.int64)
    for weight in (None, changed):
        used = graph.weight if weight is None else weight
        for sink in range(1, len(graph.time)):
            path = graph.longest_path(sink, weight)
            nodes = [0, *graph.target[path].tolist()]
            assert graph.source[path].tolist() == nodes[:-1], "each edge begins where the one before ends"
            assert nodes[-1] == sink
            assert int(used[path].sum()) == _longest(graph, used.tolist(), sink) == graph.earliest(weight)[sink]


def test_the_dependency_that_allowed_a_node_last_takes_the_time_that_is_left() -> None:
    edges = Edges(*(np.array(part) for part in ([0, 1], [2, 2], [5, 0], [1, 2], [10, 11])))
    graph = graph_of(np.array([0, 30, 50]), edges, unexplained=_UNEXPLAINED)
    found = dict(zip(graph.about.tolist(), graph.weight.tolist(), strict=True))
    assert found == {-1: 30, 11: 20, 10: 5}, "the other one keeps its least time"
    assert graph.kind[graph.about == -1].tolist() == [_UNEXPLAINED]


def test_an_edge_that_leads_back_in_time_says_nothing() -> None:
    edges = Edges(*(np.array(part) for part in ([2], [1], [0], [0], [0])))
    graph = graph_of(np.array([0, 10, 20]), edges, unexplained=_UNEXPLAINED)
    assert graph.source.tolist() == [0, 0]


def test_a_floor_that_is_longer_than_the_recorded_time_is_cut() -> None:
    edges = Edges(*(np.array(part) for part in ([0], [1], [100], [0], [0])))
    assert graph_of(np.array([0, 10]), edges, unexplained=_UNEXPLAINED).weight.tolist() == [10]


def test_a_slice_that_starts_makes_room_for_a_launch_of_that_moment() -> None:
    # One slice was launched at 5 and starts at 10, as the host goes on; the other is launched and starts at 20.
    device = Device(np.arange(2), np.zeros(2, np.int64), np.array([10, 20]), np.array([15, 25]))
    nodes = nodes_of((0, 30), np.zeros(2, np.int64), np.array([10, 20]), device, issued=np.array([5, 20]))
    assert nodes.start[0] < nodes.point[0]
    assert nodes.point[1] < nodes.start[1]
