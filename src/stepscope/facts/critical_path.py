"""What bounds a step: ``critical_path.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class ShownStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[shown_step]``."""

    longer_than_median: float
    least_share_of_time: float


class Inference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[inference]``."""

    handoff_gap_us: int
    least_delay_us: int
    stream_wait_us: int
    least_awaited_share: float
    most_late_end_share: float


class Overhead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[overhead]``."""

    longest_launch_us: int
    longest_kernel_kernel_us: int


class Units(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[units]``."""

    wrapper_from_share: float
    wrapped_from_share: float


class Copies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[copies]``."""

    blocking: str


class Waits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[waits]``."""

    patterns: tuple[str, ...]


class CriticalPathFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    shown_step: ShownStep
    inference: Inference
    overhead: Overhead
    units: Units
    copies: Copies
    waits: Waits


def critical_path_facts() -> CriticalPathFacts:
    """What bounds a step."""
    return load("critical_path", CriticalPathFacts)
