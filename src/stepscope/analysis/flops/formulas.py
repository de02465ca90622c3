"""FLOPs of a call from the shapes of its inputs, by the formulas of facts/flops.toml."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from stepscope.analysis.flops.convolution import convolution
from stepscope.analysis.flops.cost import Cost, moved_bytes
from stepscope.analysis.flops.recurrent import recurrent
from stepscope.analysis.flops.shapes import Shape
from stepscope.facts.flops import flops_facts

Sizes = dict[str, int]


@dataclass(frozen=True)
class Formula:
    """One entry of the table."""

    kind: str
    inputs: tuple[str, ...]
    flops: str
    output: tuple[str, ...]
    causal: int | None = None
    again: str | None = None


@cache
def formulas() -> dict[str, tuple[Formula, ...]]:
    """By name of the operator, in the order to try."""
    by_name: dict[str, tuple[Formula, ...]] = {}
    for entry in flops_facts().formula:
        formula = Formula(
            entry.kind,
            entry.inputs,
            entry.flops,
            entry.output,
            entry.causal,
            entry.again,
        )
        for name in entry.names:
            by_name[name] = (*by_name.get(name, ()), formula)
    return by_name


def known_names() -> list[str]:
    """All operators that have a formula."""
    table = flops_facts()
    return [*formulas(), *table.convolutions, *table.recurrent]


def needs_arguments(name: str) -> bool:
    """Whether shapes alone do not tell all."""
    table = flops_facts()
    return (
        name in table.convolutions
        or (name in table.recurrent and table.recurrent[name].mask is not None)
        or any(entry.causal is not None for entry in formulas().get(name, ()))
    )


def cost(
    name: str,
    inputs: Sequence[Shape | None],
    dtypes: Sequence[str | None],
    arguments: Sequence[str],
    lists: Sequence[tuple[Shape, ...] | None] = (),
) -> Cost | None:
    """What a call costs, or None where its shapes do not tell; ``lists`` has the inputs that are lists of tensors.

    >>> cost("aten::mm", ((4, 8), (8, 2)), ("fp32", "fp32"), ())
    Cost(kind='matmul', flops=128, again=0, bytes=224)
    """
    table = flops_facts()
    argument_of = table.convolutions.get(name)
    if argument_of is not None:
        return convolution(argument_of, inputs, dtypes, arguments)
    if name in table.recurrent:
        return recurrent(table.recurrent[name], inputs, lists, arguments)
    for formula in formulas().get(name, ()):
        sizes = fitted(formula.inputs, inputs)
        if sizes is not None:
            return _evaluated(formula, sizes, inputs, dtypes, arguments)
    return None


def fitted(patterns: Sequence[str], shapes: Sequence[Shape | None]) -> Sizes | None:
    """The size of each letter, or None if the shapes do not fit."""
    if len(shapes) < len(patterns):
        return None
    sizes: Sizes = {}
    leading: Shape = ()
    for pattern, shape in zip(patterns, shapes, strict=False):
        if pattern == "_":
            continue
        letters = pattern.lstrip("*")
        if shape is None or len(shape) < len(letters) or (pattern == letters and len(shape) != len(letters)):
            return None
        split = len(shape) - len(letters)
        for letter, size in zip(letters, shape[split:], strict=True):
            if sizes.setdefault(letter, size) != size:
                return None
        if pattern != letters and math.prod(shape[:split]) >= math.prod(leading):
            leading = shape[:split]
    sizes["*"] = math.prod(leading)
    return sizes


def value(expression: str, sizes: Sizes) -> int:
    """A sum of products.

    >>> value("2 m k + 3 m", {"m": 5, "k": 7})
    85
    """
    products = (product.split() for product in expression.split("+"))
    return sum(math.prod(int(word) if word.isdigit() else sizes[word] for word in words) for words in products)


def _evaluated(
    formula: Formula,
    sizes: Sizes,
    inputs: Sequence[Shape | None],
    dtypes: Sequence[str | None],
    arguments: Sequence[str],
) -> Cost:
    flops, again = value(formula.flops, sizes), value(formula.again, sizes) if formula.again else 0
    if formula.causal is not None and formula.causal < len(arguments):
        causal = arguments[formula.causal] in flops_facts().causal.values
        flops, again = (flops // 2, again // 2) if causal else (flops, again)
    outputs = [math.prod(sizes[letter] for letter in pattern) for pattern in formula.output]
    return Cost(formula.kind, flops, again, moved_bytes(inputs, dtypes, outputs))
