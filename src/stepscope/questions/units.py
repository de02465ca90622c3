"""The units of all fields of an answer, read from their types."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, get_args

import msgspec

from stepscope.analysis.foundation.units import unit_of


@lru_cache
def units_within(kind: Any) -> dict[str, str]:
    """The units of all fields of the structures within a type, by name; outer ones before those nested in them.

    >>> from stepscope.analysis.foundation.step_pattern import Pattern
    >>> units_within(list[Pattern] | None)["extra_us"]
    'us'
    """
    units: dict[str, str] = {}
    for structure in structures(kind):
        for field in msgspec.structs.fields(structure):
            unit = unit_of(field.type)
            if unit is not None:
                units.setdefault(field.name, unit)
    return units


def structures(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The structures within a type such as ``list[Step] | None``, each followed by those within it."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from structures(field.type)
    else:
        for part in get_args(kind):
            yield from structures(part)
