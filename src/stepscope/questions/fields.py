"""The fields of an answer: their names, their units, and what each means."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from stepscope.analysis.foundation.question import Question
from stepscope.analysis.foundation.units import unit_of
from stepscope.texts import catalogue


def fields(question: Question) -> list[str]:
    """Names of all documented fields of a question, nested ones with dots."""
    return list(_leaves_of(question))


def unit(question: Question, field: str) -> str | None:
    """The unit of a field that holds numbers."""
    return unit_of(_leaves_of(question)[field].kind)


def description(question: Question, field: str) -> dict[str, str]:
    """The catalogue's entry of a field.

    A structure means the same wherever it stands in an answer, and a field of the step trace the same as there.
    """
    known = catalogue()["field"]
    parts = field.split(".")
    of_steps = [f"steps.{'.'.join(parts[number:])}" for number in range(len(parts))]
    keys = [*(f"{question.name}.{path}" for path in _leaves_of(question)[field].names), *of_steps]
    return known[next((key for key in keys if key in known), keys[0])]


class _Leaf(NamedTuple):
    """A field that holds no structure. ``names``: where the answer has this field of this structure, its own first."""

    names: tuple[str, ...]
    kind: Any


def _leaves_of(question: Question) -> dict[str, _Leaf]:
    """All fields by name."""
    return _leaves_of_types(question.type, tuple(question.beside.items()))


@cache  # every field of every question is looked up here, and types do not change
def _leaves_of_types(data: Any, beside: tuple[tuple[str, Any], ...]) -> dict[str, _Leaf]:
    first: dict[type, str] = {}
    kinds = [(data, ""), *((kind, f"{name}.") for name, kind in beside)]
    return {leaf.names[0]: leaf for kind, before in kinds for leaf in _leaves(kind, (before,), first)}


def _leaves(kind: Any, before: tuple[str, ...], first: dict[type, str]) -> Iterator[_Leaf]:
    """Every field that holds no structure itself; ``first`` is where each structure was met first."""
    for structure in _structures(kind):
        prefixes = dict.fromkeys((*before, first.setdefault(structure, before[0])))
        for field in msgspec.structs.fields(structure):
            names = tuple(f"{prefix}{field.name}" for prefix in prefixes)
            inner = list(_leaves(field.type, tuple(f"{name}." for name in names), first))
            yield from inner or [_Leaf(names, field.type)]


def _structures(kind: Any) -> list[Any]:
    """The structures within a type such as ``list[Step] | None``."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [kind]
    return [structure for part in getattr(kind, "__args__", ()) for structure in _structures(part)]
