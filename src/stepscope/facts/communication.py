"""Names of communication calls and kernels: ``communication.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from stepscope.facts import load


class CommunicationFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    kernel_patterns: tuple[str, ...]
    enqueueing: str
    host_prefixes: tuple[str, ...]
    host_operators: str
    host_transfers: tuple[str, ...]
    staging: str
    kernel_kinds: dict[str, str]
    kinds: dict[str, str]
    mindspore_operators: dict[str, str]
    dtype_bytes: dict[str, int]
    call_number: str
    bus_rounds: dict[str, int]


def communication_facts() -> CommunicationFacts:
    """Names of communication calls and kernels."""
    return load("communication", CommunicationFacts)


@cache
def communication_kernel() -> re.Pattern[str]:
    """Matches names of device kernels that communicate."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in communication_facts().kernel_patterns))
