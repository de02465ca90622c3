"""Recurrent layers: at each position of each sequence, every matrix of weights is applied once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from stepscope.analysis.flops.cost import Cost
from stepscope.analysis.flops.shapes import Shape
from stepscope.facts.flops import Recurrent

_MATRIX: Final = 2
_OF_WEIGHTS: Final = 3  # index in the mask: gradients of input, state, cell state, weights


def recurrent(
    layer: Recurrent,
    inputs: Sequence[Shape | None],
    lists: Sequence[tuple[Shape, ...] | None],
    arguments: Sequence[str],
) -> Cost | None:
    """Cost of a recurrent layer, forward or backward; ``layer`` says where its weights may stand.

    Bytes are not told: shapes do not say how large the output is.
    """
    data = inputs[0] if inputs else None
    candidates = (lists[argument] for argument in layer.weights if argument < len(lists))
    weights = next((shapes for shapes in candidates if shapes and _are_weights(shapes)), None)
    if not data or weights is None:
        return None
    passes = _passes(layer, arguments)
    once = 2 * math.prod(data[:-1]) * sum(math.prod(shape) for shape in weights if len(shape) == _MATRIX)
    return None if passes is None else Cost("matmul", passes * once, 0, None)


def _are_weights(shapes: tuple[Shape, ...]) -> bool:
    """Matrices and vectors; states have three sizes."""
    sizes = {len(shape) for shape in shapes}
    return _MATRIX in sizes and sizes <= {1, _MATRIX}


def _passes(layer: Recurrent, arguments: Sequence[str]) -> int | None:
    """Backward goes through the layer once for its data, and once more where the weights' gradient is asked for."""
    if layer.mask is None:
        return 1
    if layer.mask >= len(arguments):
        return None
    wanted = [word.strip() == "True" for word in arguments[layer.mask].strip("[]").split(",")]
    return 1 + wanted[_OF_WEIGHTS] if len(wanted) > _OF_WEIGHTS else None
