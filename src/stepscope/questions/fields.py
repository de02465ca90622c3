"""The fields of an answer: their names, and what each means."""

from __future__ import annotations

from typing import Any

import msgspec

from stepscope.analysis.foundation.question import Question
from stepscope.texts import catalogue


def fields(question: Question) -> list[str]:
    """Names of all documented fields of a question, nested ones with dots."""
    beside = (field for name, kind in question.beside.items() for field in _walk(kind, f"{name}."))
    return [*_walk(question.type, ""), *beside]


def _walk(kind: Any, before: str) -> list[str]:
    found: list[str] = []
    for part in _structures(kind):
        for field in msgspec.structs.fields(part):
            name = f"{before}{field.name}"
            inner = _walk(field.type, f"{name}.")
            found += inner or [name]
    return list(dict.fromkeys(found))


def _structures(kind: Any) -> list[Any]:
    """The structures within a type such as ``list[Step] | None``."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [kind]
    return [found for part in getattr(kind, "__args__", ()) for found in _structures(part)]


def description(question: Question, field: str) -> dict[str, str]:
    """The catalogue's entry of a field; one that shows a field of the step trace means the same as there."""
    known = catalogue()["field"]
    return known.get(f"{question.name}.{field}") or known[f"steps.{field.rsplit('.', maxsplit=1)[-1]}"]
