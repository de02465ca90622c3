"""Words of Nsight Systems' exports: ``nsight.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Nvtx(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Event types of NVTX, and what its texts mean."""

    ranges: tuple[int, ...]
    marks: tuple[int, ...]
    operator: str


class NsightFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    nvtx: Nvtx
    memory_kinds: dict[str, str]
    copy_kinds: dict[str, str]
    sync_kinds: dict[str, str]


def nsight_facts() -> NsightFacts:
    """Words of Nsight Systems' exports."""
    return load("nsight", NsightFacts)
