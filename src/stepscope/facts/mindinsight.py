"""Files of MindSpore's profiler directories: ``mindinsight.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Summary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[summaries]``."""

    file: str
    keys: tuple[str, ...]
    texts: tuple[str, ...] = ()
    ends_open: bool = False


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[timeline.*]``."""

    kind: str
    name: str
    track: str
    core: str = ""
    phase: str = ""


class TimelineRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[timeline]``."""

    processes: dict[str, Row]
    threads: dict[str, Row]


class MindinsightFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    phases: dict[str, str]
    files: dict[str, str]
    objects: dict[str, str]
    devices: dict[str, str]
    switches: dict[str, str]
    summaries: dict[str, Summary]
    timeline: TimelineRows


def mindinsight_facts() -> MindinsightFacts:
    """Files of MindSpore's profiler directories."""
    return load("mindinsight", MindinsightFacts)
