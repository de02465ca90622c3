"""Names on PyTorch's host threads: ``pytorch.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class PhaseNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Patterns of the ranges that begin a phase."""

    backward: tuple[str, ...]
    optimizer: tuple[str, ...]
    data: tuple[str, ...]


class PytorchFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    annotations: tuple[str, ...]
    garbage_collection: tuple[str, ...]
    phases: PhaseNames


def pytorch_facts() -> PytorchFacts:
    """Names on PyTorch's host threads."""
    return load("pytorch", PytorchFacts)
