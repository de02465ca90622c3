"""What marks steps, and which are not typical: ``steps.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A spelling of step marks; ``name`` is what ``steps.marks_from`` says."""

    name: str
    pattern: str


class WarmUp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Leading steps far longer than the others."""

    longer_than_median: float
    least_steps: int
    largest_share: float
    longer_than_rest: float


class Stall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A step in which nothing ran."""

    least_share_with_work: float


class Rhythm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Steps that are long every nth time."""

    longer_than_others: float
    least_steps: int


class Incomplete(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A last step inside which the capture ended."""

    least_share_of_previous: float
    least_share_of_median: float


class Outlier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Steps that stand out."""

    interquartile_ranges: float
    least_share_over_median: float


class Ahead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A host that runs ahead of its device."""

    longer_than_mark: float


class UnseenWork(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Work from before the capture that is not in it."""

    least_us: int
    least_share: float


class StepsFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    mark: tuple[Mark, ...]
    warm_up: WarmUp
    stall: Stall
    pattern: Rhythm
    incomplete: Incomplete
    outlier: Outlier
    ahead: Ahead
    unseen_work: UnseenWork


def steps_facts() -> StepsFacts:
    """What marks steps, and which are not typical."""
    return load("steps", StepsFacts)
