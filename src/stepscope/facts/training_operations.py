"""Operations of a training step and how they depend on each other: ``training_operations.toml``, typed."""

from __future__ import annotations

from typing import Literal

import msgspec

from stepscope.facts import load


class TrainingOperation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an operation is, and whom it meets."""

    kind: Literal["kernel", "collective", "gc"]
    call: str
    meets: Literal["dp", "stages", "pair", "nobody"]
    last: int


class Slowdown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of the slowdown of a cluster."""

    straggling_from: float
    worst_workers_share: float
    most_replay_error_share: float
    explained_from: float
    steady_spreads: float


class TrainingOperations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    operations: dict[str, TrainingOperation]
    slowdown: Slowdown


def training_operations_facts() -> TrainingOperations:
    """Operations of a training step."""
    return load("training_operations", TrainingOperations)
