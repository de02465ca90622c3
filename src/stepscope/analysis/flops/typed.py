"""FLOPs of kernels that carry a type and shapes of inputs and outputs, as Ascend and MindSpore record them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from stepscope.analysis.flops.cost import Cost, moved_bytes
from stepscope.analysis.flops.shapes import Shape
from stepscope.facts.flops import flops_facts

Shapes = Sequence[Shape | None]
_BLOCKED_CHANNELS: Final = 5  # NC1HWC0: channels stand in two places
_BLOCKED_MATRIX: Final = "NZ"
_STATISTICS: Final = 8  # attention kernels keep eight copies of each row's softmax statistics


@cache
def rules() -> dict[str, str]:
    """By type of the kernel."""
    return {name: entry.rule for entry in flops_facts().typed for name in entry.names}


def typed_cost(
    kind: str, inputs: Shapes, outputs: Shapes, dtypes: Sequence[str | None], formats: str, weight: int | None = None
) -> Cost | None:
    """What a kernel of this type costs; ``weight`` is the number of weights of a convolution, where its operator tells.

    >>> typed_cost("MatMulV2", ((32, 1000), (32, 4096)), ((1000, 4096),), ("fp32", "fp32"), "FORMAT_ND;FORMAT_ND").flops
    262144000
    """
    rule = rules().get(kind)
    if rule is None or not inputs:
        return None
    if not outputs:
        flops = _product_of_two(inputs) if rule == "matmul" else None
    elif rule.startswith("convolution"):
        flops = _CONVOLUTIONS[rule](inputs, outputs, weight)
    else:
        flops = _OTHERS[rule](inputs, outputs, formats)
    if flops is None:
        return None
    again = flops // 5 if rule == "attention_backward" else 0
    made = [math.prod(shape) for shape in outputs if shape is not None]
    return Cost(rule.partition("_")[0], flops, again, moved_bytes(inputs, dtypes, made) if made else None)


def _product_of_two(inputs: Shapes) -> int | None:
    """Without an output, the size that both matrices share is summed over; two such sizes leave it open."""
    left, right = inputs[0], inputs[1] if len(inputs) > 1 else None
    if left is None or right is None or len(left) != 2 or len(right) != 2:
        return None
    shared = set(left) & set(right) - {0}
    return 2 * math.prod(left) * math.prod(right) // shared.pop() if len(shared) == 1 else None


def _operands(inputs: Shapes, outputs: Shapes) -> tuple[Shape, Shape, Shape] | None:
    left, right, made = inputs[0], inputs[1] if len(inputs) > 1 else None, outputs[0]
    return (left, right, made) if left and right and made else None


def _matmul(inputs: Shapes, outputs: Shapes, formats: str) -> int | None:
    """Whatever is transposed, flattened or stored in blocks: |A| |B| |C| = (m k)(k n)(m n) is the square of m k n."""
    operands = _operands(inputs, outputs)
    return None if operands is None else 2 * _root(operands, 1)


def _root(operands: tuple[Shape, ...], batch: int) -> int:
    return math.isqrt(math.prod(math.prod(shape) for shape in operands) // batch) if batch else 0


def _matmul_batched(inputs: Shapes, outputs: Shapes, formats: str) -> int | None:
    """As above for each matrix of C, where A and B have as many or one for all.

    Groups differ: b groups of rows leave b matrices in B alone; b groups of what is summed over, as in the gradient of
    such weights, leave them in C alone.
    """
    operands = _operands(inputs, outputs)
    if operands is None:
        return None
    batches = [
        shape[: -4 if blocked else -2] for shape, blocked in zip(operands, _blocked(len(inputs), formats), strict=True)
    ]
    left, right, made = (math.prod(batch) for batch in batches)
    if _broadcast(batches[0], batches[1]) == batches[2]:
        return 2 * made * _root(operands, left * right * made)
    return 2 * _root(operands, made if _is_sum_of_groups(*operands) else right)


def _is_sum_of_groups(left: Shape, right: Shape, made: Shape) -> bool:
    """Whether a matrix of C takes its rows from A and its columns from B: what A and B have beside them is the same."""
    if len(left) != 2 or len(right) != 2 or len(made) < 3:
        return False
    return math.prod(left) * made[-1] == math.prod(right) * made[-2]


def _blocked(inputs: int, formats: str) -> list[bool]:
    """Whether A, B and C are stored in blocks, which takes two sizes more."""
    given, _, made = formats.upper().partition("->")
    layouts = (given.split(";") + [""] * inputs)[:2]
    return [_BLOCKED_MATRIX in layout for layout in (*layouts, made)]


def _broadcast(left: Shape, right: Shape) -> Shape | None:
    """The leading sizes of a product: where they differ, one of them is 1."""
    count = max(len(left), len(right))
    padded = ((1,) * (count - len(left)) + left, (1,) * (count - len(right)) + right)
    if any(1 not in pair and len(set(pair)) > 1 for pair in zip(*padded, strict=True)):
        return None
    return tuple(first if second == 1 else second for first, second in zip(*padded, strict=True))


def _positions(shape: Shape | None) -> int | None:
    """Places at which the filter was laid: batch times spatial sizes."""
    if shape is None or len(shape) < 4:
        return None
    spatial = shape[2:4] if len(shape) == _BLOCKED_CHANNELS else shape[2:]
    return shape[0] * math.prod(spatial)


def _forward(inputs: Shapes, outputs: Shapes, weight: int | None) -> int | None:
    return _per_position(_positions(outputs[0]), inputs[1] if len(inputs) > 1 else None, weight)


def _of_input(inputs: Shapes, outputs: Shapes, weight: int | None) -> int | None:
    """Inputs are sizes (sometimes), weights and the gradient of the output, in either order."""
    tensors = [shape for shape in inputs if shape is not None and len(shape) >= 4]
    if len(tensors) < 2:
        return None
    gradient = next((shape for shape in tensors if len(shape) == _BLOCKED_CHANNELS), tensors[-1])
    filters = next((shape for shape in tensors if shape is not gradient), None)
    return _per_position(_positions(gradient), filters, weight)


def _of_filter(inputs: Shapes, outputs: Shapes, weight: int | None) -> int | None:
    """Inputs are data and the gradient of the output, in either order; the gradient has no more positions."""
    positions = [count for shape in inputs if (count := _positions(shape)) is not None]
    return _per_position(min(positions), outputs[0], weight) if len(positions) >= 2 else None


def _per_position(positions: int | None, filters: Shape | None, weight: int | None) -> int | None:
    if positions is None or (filters is None and weight is None):
        return None
    return 2 * positions * (weight if weight is not None else math.prod(filters or ()))


def _attention(inputs: Shapes, outputs: Shapes, formats: str) -> int | None:
    scores = _scores(inputs[:3], outputs)
    return None if scores is None else 4 * scores


def _attention_backward(inputs: Shapes, outputs: Shapes, formats: str) -> int | None:
    scores = _scores(inputs[:3], inputs[3:])
    return None if scores is None else 10 * scores


def _scores(tensors: Shapes, others: Shapes) -> int | None:
    """Scores times head size. No layout is recorded; the softmax statistics, batch x heads x queries x 8, tell it."""
    statistics = next((shape for shape in others if shape and len(shape) == 4 and shape[-1] == _STATISTICS), None)
    if statistics is None or len(tensors) < 2 or tensors[0] is None or tensors[1] is None:
        return None
    batch, heads, queries, _ = statistics
    query, key = tensors[0], tensors[1]
    if len(query) == 4 and query[:3] == (batch, heads, queries):
        keys, size = key[2], query[3]
    elif len(query) == 4 and query[:3] == (batch, queries, heads):
        keys, size = key[1], query[3]
    elif len(query) == 3 and query[:2] == (batch, queries):
        keys, size = key[1], query[2] // heads
    elif len(query) == 3 and query[:2] == (queries, batch):
        keys, size = key[0], query[2] // heads
    else:
        return None
    return batch * heads * queries * keys * size


_CONVOLUTIONS: Final[dict[str, Callable[[Shapes, Shapes, int | None], int | None]]] = {
    "convolution": _forward,
    "convolution_input": _of_input,
    "convolution_filter": _of_filter,
}
_OTHERS: Final[dict[str, Callable[[Shapes, Shapes, str], int | None]]] = {
    "matmul": _matmul,
    "matmul_batched": _matmul_batched,
    "attention": _attention,
    "attention_backward": _attention_backward,
}
