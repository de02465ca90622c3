"""How the timeline gathers its tracks: ``timeline.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Quiet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[quiet]``."""

    most_share_of_busiest: float


class TimelineFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    quiet: Quiet


def timeline_facts() -> TimelineFacts:
    """How the timeline gathers its tracks."""
    return load("timeline", TimelineFacts)
