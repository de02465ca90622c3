"""What a call costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stepscope.analysis.flops.shapes import Shape, element_bytes


@dataclass(frozen=True)
class Cost:
    """FLOPs of one call, how many of them repeat the forward pass, and the bytes it must at least move."""

    kind: str
    flops: int
    again: int
    bytes: int | None


def compute_dtype(dtypes: Sequence[str | None]) -> str | None:
    """The element type that a call computes in: that of its first floating-point (else first known) input."""
    known = [dtype for dtype in dtypes if dtype is not None]
    return next((dtype for dtype in known if dtype[0] in "fbt" and dtype != "bool"), known[0] if known else None)


def moved_bytes(inputs: Sequence[Shape | None], dtypes: Sequence[str | None], outputs: Sequence[int]) -> int | None:
    """Bytes of all inputs and outputs, each once; outputs have the computing type. None if a type is unknown."""
    total = 0
    for shape, dtype in zip(inputs, dtypes, strict=False):
        size = element_bytes(dtype)
        if shape and size is None:
            return None
        total += math.prod(shape) * size if shape and size is not None else 0
    size = element_bytes(compute_dtype(dtypes))
    return None if size is None else total + sum(outputs) * size
