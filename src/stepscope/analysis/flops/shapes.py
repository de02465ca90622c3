"""Shapes, element types and arguments of a call, out of the texts that the profilers write."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any, Final

import msgspec

from stepscope.facts.flops import flops_facts

Shape = tuple[int, ...]

_MOST_ELEMENTS: Final = 1 << 50
_MOST_DIMENSIONS: Final = 64  # PyTorch's limit


@cache
def shapes(text: str | None) -> tuple[Shape | None, ...]:
    """One shape per input; None for what is no single tensor.

    >>> shapes("[[8, 16], [], [[2, 3], [4]]]")
    ((8, 16), (), None)
    >>> shapes("32,9216;4096,9216;;4096")
    ((32, 9216), (4096, 9216), (), (4096,))
    """
    if not text:
        return ()
    if text.lstrip().startswith("["):
        return tuple(_shape(entry) for entry in _decoded(text))
    return tuple(_listed(part) for part in text.strip('"').split(";"))


@cache
def lists(text: str | None) -> tuple[tuple[Shape, ...] | None, ...]:
    """For each input that is a list of tensors, their shapes; None for all others.

    >>> lists("[[8, 16], [], [[2, 3], [4]]]")
    (None, None, ((2, 3), (4,)))
    """
    if not text or not text.lstrip().startswith("["):
        return ()
    return tuple(_listed_shapes(entry) for entry in _decoded(text))


def _listed_shapes(entry: Any) -> tuple[Shape, ...] | None:
    listed = [_shape(part) for part in entry] if isinstance(entry, list) else []
    known = tuple(shape for shape in listed if shape is not None)
    return known if listed and len(known) == len(listed) else None


def _decoded(text: str) -> list[Any]:
    """A list; words such as MindSpore's NoShape and TupleShape(…) stand for what is no tensor."""
    for written in (text, re.sub(r"[A-Za-z]\w*(?:\([^()]*\))?", "null", text)):
        try:
            entries = msgspec.json.decode(written)
        except (msgspec.DecodeError, RecursionError):
            continue
        return entries if isinstance(entries, list) else []
    return []


def _shape(entry: Any) -> Shape | None:
    if not isinstance(entry, list) or not all(isinstance(size, int) and size >= 0 for size in entry):
        return None
    return _believable(tuple(entry))


def _believable(sizes: Shape) -> Shape | None:
    """No memory holds a tensor of more elements; what costs follow from it would fit no number."""
    return sizes if len(sizes) <= _MOST_DIMENSIONS and math.prod(size or 1 for size in sizes) < _MOST_ELEMENTS else None


def _listed(part: str) -> Shape | None:
    try:
        sizes = tuple(int(size) for size in part.split(",") if size.strip())
    except ValueError:
        return None
    return _believable(sizes) if all(size >= 0 for size in sizes) else None


@cache
def dtypes(text: str | None) -> tuple[str | None, ...]:
    """One element type per input, by the names of the device table; None for what is not a tensor or not known.

    >>> dtypes('["c10::BFloat16", "Scalar"]'), dtypes("FLOAT;DT_BF16;INT8")
    (('bf16', None), ('fp32', 'bf16', 'int8'))
    """
    if not text:
        return ()
    if text.lstrip().startswith("["):
        try:
            parts = msgspec.json.decode(text)
        except msgspec.DecodeError:
            return ()
    else:
        parts = text.strip('"').split(";")
    return tuple(_dtype(part) if isinstance(part, str) else None for part in parts)


def _dtype(name: str) -> str | None:
    table = flops_facts()
    name = name.strip().lower()
    for prefix in table.dtype_prefixes.cut:
        name = name.removeprefix(prefix)
    return table.dtypes.get(name.rstrip("]"))


def element_bytes(dtype: str | None) -> int | None:
    """Bytes of one element."""
    return None if dtype is None else flops_facts().dtype_bytes.get(dtype)


#: Finds the values of a call's arguments in its details: a list of texts, as PyTorch writes it.
ARGUMENTS: Final = r'"Concrete Inputs"\s*:\s*(\[(?:[^"\]]*"(?:[^"\\]|\\.)*")*[^"\]]*\])'


@cache
def arguments(text: str | None) -> tuple[str, ...]:
    """The values of a call's arguments; empty where they were not recorded.

    >>> arguments('["", "[2, 2]", "True"]')
    ('', '[2, 2]', 'True')
    """
    try:
        values = msgspec.json.decode(text) if text else []
    except msgspec.DecodeError:
        return ()
    return tuple(str(value) for value in values)


def whole_numbers(value: str) -> Shape | None:
    """A list argument such as a stride.

    >>> whole_numbers("[2, 2]"), whole_numbers("")
    ((2, 2), None)
    """
    try:
        decoded = msgspec.json.decode(value) if value else None
    except msgspec.DecodeError:
        return None
    if isinstance(decoded, int):
        return (decoded,)
    return tuple(decoded) if isinstance(decoded, list) and all(isinstance(size, int) for size in decoded) else None
