"""How much of a capture on object storage is fetched: ``remote.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class RemoteFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    most_files: int
    most_gigabytes: int


def remote_facts() -> RemoteFacts:
    """How much of a capture on object storage is fetched."""
    return load("remote", RemoteFacts)
