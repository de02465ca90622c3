"""Words and files of Ascend captures: ``ascend.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Sentinels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ways to say that there is no value."""

    numbers: tuple[int, ...]
    words: tuple[str, ...]


class TableSwitches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Switches that fill a table of a database, by who wrote it."""

    framework: dict[str, str]
    pytorch: dict[str, str]
    msprof: dict[str, str]


class AscendFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    task_kinds: dict[str, str]
    plane_kinds: dict[str, str]
    transfer_kinds: dict[str, str]
    transports: dict[str, str]
    sentinels: Sentinels
    dtype_bytes: dict[str, int]
    large_packet_bytes: dict[str, int]
    collective_kinds: dict[str, str]
    group_dimensions: dict[str, str]
    switches: dict[str, str]
    table_switches: TableSwitches
    layers: dict[str, str]
    layer_numbers: dict[str, str]
    link_kinds: dict[str, str]
    files: dict[str, tuple[str, ...]]
    reported: dict[str, tuple[str, ...]]


def ascend_facts() -> AscendFacts:
    """Words and files of Ascend captures."""
    return load("ascend", AscendFacts)
