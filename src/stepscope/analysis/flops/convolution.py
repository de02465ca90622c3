"""Convolutions: the sizes of the output follow from stride, padding and dilation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from stepscope.analysis.flops.cost import Cost, moved_bytes
from stepscope.analysis.flops.shapes import Shape, whole_numbers

_LEAST = 3  # batch, channels, one size


def convolution(
    argument_of: Mapping[str, Any],
    inputs: Sequence[Shape | None],
    dtypes: Sequence[str | None],
    arguments: Sequence[str],
) -> Cost | None:
    """Cost of a convolution, forward or backward; ``argument_of`` says where its arguments stand."""
    if len(inputs) <= max(argument_of["input"], argument_of["weight"]):
        return None
    data, weight = inputs[argument_of["input"]], inputs[argument_of["weight"]]
    if data is None or weight is None or len(weight) < _LEAST or len(data) not in (len(weight) - 1, len(weight)):
        return None
    data = data if len(data) == len(weight) else (1, *data)  # without a batch
    if "transposed" in argument_of and len(arguments) <= argument_of["transposed"]:
        return None
    transposed = arguments[argument_of["transposed"]] == "True"
    if "gradient" in argument_of:
        return _backward(argument_of, data, weight, inputs, dtypes, arguments, transposed)
    made = (
        _transposed_output(argument_of, data, weight, arguments)
        if transposed
        else _output(argument_of, data, weight, arguments)
    )
    if made is None:
        return None
    laid = data if transposed else made  # the filter is laid at each position of the smaller side
    flops = 2 * data[0] * math.prod(laid[2:]) * math.prod(weight)
    return Cost("convolution", flops, 0, moved_bytes(inputs, dtypes, [math.prod(made)]))


def _output(argument_of: Mapping[str, Any], data: Shape, weight: Shape, arguments: Sequence[str]) -> Shape | None:
    numbers = _numbers(arguments, argument_of, len(weight) - 2, "stride", "padding", "dilation")
    if numbers is None or 0 in numbers[0]:
        return None
    sizes = (
        (size + 2 * padding - dilation * (filter_size - 1) - 1) // stride + 1
        for size, filter_size, stride, padding, dilation in zip(data[2:], weight[2:], *numbers, strict=True)
    )
    return (data[0], weight[0], *(max(size, 0) for size in sizes))


def _transposed_output(
    argument_of: Mapping[str, Any], data: Shape, weight: Shape, arguments: Sequence[str]
) -> Shape | None:
    numbers = _numbers(arguments, argument_of, len(weight) - 2, "stride", "padding", "dilation", "output_padding")
    groups = whole_numbers(arguments[argument_of["groups"]]) if len(arguments) > argument_of["groups"] else None
    if numbers is None or groups is None:
        return None
    sizes = (
        (size - 1) * stride - 2 * padding + dilation * (filter_size - 1) + more + 1
        for size, filter_size, stride, padding, dilation, more in zip(data[2:], weight[2:], *numbers, strict=True)
    )
    return (data[0], weight[1] * groups[0], *(max(size, 0) for size in sizes))


def _numbers(arguments: Sequence[str], argument_of: Mapping[str, Any], count: int, *names: str) -> list[Shape] | None:
    spread = [_spread(arguments[argument_of[name]], count) for name in names if argument_of[name] < len(arguments)]
    known = [numbers for numbers in spread if numbers is not None]
    return known if len(known) == len(names) else None


def _spread(value: str, count: int) -> Shape | None:
    """One number stands for all axes."""
    numbers = whole_numbers(value)
    if numbers is None or len(numbers) not in (1, count):
        return None
    return numbers if len(numbers) == count else numbers * count


def _backward(
    argument_of: Mapping[str, Any],
    data: Shape,
    weight: Shape,
    inputs: Sequence[Shape | None],
    dtypes: Sequence[str | None],
    arguments: Sequence[str],
    transposed: bool,
) -> Cost | None:
    """Gradients of input and weight, as far as they are asked for, cost as much as the forward pass each."""
    gradient = inputs[argument_of["gradient"]]
    if gradient is None or len(gradient) not in (len(weight) - 1, len(weight)) or len(arguments) <= argument_of["mask"]:
        return None
    gradient = gradient if len(gradient) == len(weight) else (1, *gradient)
    wanted = [word.strip() == "True" for word in arguments[argument_of["mask"]].strip("[]").split(",")]
    once = 2 * data[0] * math.prod((data if transposed else gradient)[2:]) * math.prod(weight)
    made = [math.prod(shape) for shape, asked in zip((data, weight), wanted, strict=False) if asked]
    return Cost("convolution", once * sum(wanted[:2]), 0, moved_bytes(inputs, dtypes, made))
