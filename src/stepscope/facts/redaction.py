"""What is replaced in what leaves the machine: ``redaction.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class RedactionFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    packages: tuple[str, ...]
    known_packages: tuple[str, ...]
    file_endings: tuple[str, ...]
    plain_roots: tuple[str, ...]
    version_words: tuple[str, ...]
    capture_words: tuple[str, ...]
    node_words: tuple[str, ...]
    homes: tuple[str, ...]
    before_user: tuple[str, ...]
    user_variables: tuple[str, ...]
    host_variables: tuple[str, ...]
    domains: tuple[str, ...]
    domains_with_port: tuple[str, ...]
    no_machines: tuple[str, ...]
    host_in_name: tuple[str, ...]
    plain_hosts: tuple[str, ...]
    plain_words: tuple[str, ...]
    least_letters: int


def redaction_facts() -> RedactionFacts:
    """What is replaced in what leaves the machine."""
    return load("redaction", RedactionFacts)
