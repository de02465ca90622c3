"""Products that a checkpoint without reentrance repeats, in small runs made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.stores import make_store
from stepscope.analysis.flops import flops

_NODE = "autograd::engine::evaluate_function: ReluBackward0"
_PRODUCT = 2 * 64 * 32 * 16
_IN_GRAPH = '{"Sequence number": 7, "Fwd thread id": 0}'
_OF_NODE = '{"Sequence number": 7, "Fwd thread id": 1}'
_NOTHING = '{"Ev Idx": 3}'
_SAME, _OTHER = "[[64, 32], [32, 16]]", "[[32, 64], [64, 16]]"


def _model_products(
    directory: Path, *, first: int, inner: str, shapes: str, last: str | None, body: str | None = "ReluBackward0"
) -> float:
    """One product forward, one in a node of the backward pass; ``last`` is recorded of the node's last operator.

    Slices are numbered from ``first``; where that is large, their places are not their numbers.
    """
    slices: list[dict[str, Any]] = []
    details: list[dict[str, Any]] = []

    def add(name: str, start: int, dur: int, parent: int | None, json: str, shape: str | None = None) -> int:
        number = first + 1000 * len(slices)
        row = {"slice": number, "kind": "operator", "name": name, "start_ns": start, "dur_ns": dur, "parent": parent}
        slices.append({**row, "input_shapes": shape, "dtypes": '["float", "float"]' if shape else None})
        details.append({"slice": number, "json": json})
        return number

    add("aten::mm", 0, 10, None, _IN_GRAPH, _SAME)
    node = add(_NODE, 100, 90, None, _OF_NODE)
    around = node if body is None else add(body, 101, 80, node, _OF_NODE)
    if last is not None:  # before the product in the file, after it in time
        add("aten::threshold_backward", 150, 10, around, last)
    add("aten::mm", 110, 10, around, inner, shapes)
    (rank,) = flops(make_store(directory, slices=slices, details=details)).data.ranks
    assert rank.flops == 2 * _PRODUCT
    return rank.model_flops / _PRODUCT


@pytest.mark.parametrize("first", [0, 3_000_000_000])
def test_a_product_of_the_forward_pass_inside_a_node_is_done_again(tmp_path: Path, first: int) -> None:
    assert _model_products(tmp_path, first=first, inner=_IN_GRAPH, shapes=_SAME, last=_NOTHING) == 1


@pytest.mark.parametrize(
    "found",
    [
        {"inner": _NOTHING, "shapes": _SAME, "last": _NOTHING},  # a product of the backward pass proper
        {"inner": _IN_GRAPH, "shapes": _OTHER, "last": _NOTHING},  # nothing of the kind ran forward
        {"inner": _IN_GRAPH, "shapes": _SAME, "last": _IN_GRAPH},  # the backward pass is differentiated
        {"inner": _IN_GRAPH, "shapes": _SAME, "last": None},  # the product is the node's own last operator
        {"inner": _IN_GRAPH, "shapes": _SAME, "last": _NOTHING, "body": None},  # a hook around the node
    ],
)
def test_other_products_inside_a_node_are_the_models(tmp_path: Path, found: dict[str, Any]) -> None:
    assert _model_products(tmp_path, first=0, **found) == 2


def test_without_arguments_nothing_is_taken_for_done_again(tmp_path: Path) -> None:
    assert _model_products(tmp_path, first=0, inner="{}", shapes=_SAME, last="{}") == 2
