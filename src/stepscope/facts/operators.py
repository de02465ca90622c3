"""How kernels, calls and copies are sorted: ``operators.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Category(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Kernels whose type or name fits."""

    name: str
    pattern: str


class ShortNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is taken from the name of a kernel."""

    generic: tuple[str, ...]
    cut: tuple[str, ...]


class ApiPattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls whose name fits."""

    level: str
    pattern: str


class Api(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Levels of runtime calls, by prefix, else by pattern."""

    prefixes: dict[str, str]
    patterns: tuple[ApiPattern, ...]


class CopyKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Copies whose name or direction fits."""

    kind: str
    pattern: str


class Pageable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Copies from memory that the driver must stage."""

    pattern: str


class Pmu(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hardware counters: which means are weighted, and which are no measurements."""

    weighted: str
    left_out: str


class OperatorsFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    category: tuple[Category, ...]
    short_names: ShortNames
    api: Api
    copies: tuple[CopyKind, ...]
    pageable: Pageable
    pmu: Pmu


def operators_facts() -> OperatorsFacts:
    """How kernels, operators, calls and copies are sorted."""
    return load("operators", OperatorsFacts)
