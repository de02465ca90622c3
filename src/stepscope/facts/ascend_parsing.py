"""Raw Ascend captures that nobody parsed: ``ascend_parsing.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class AscendParsingFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    commands: dict[str, str]
    first_words: dict[str, str]


def ascend_parsing_facts() -> AscendParsingFacts:
    """Raw Ascend captures that nobody parsed."""
    return load("ascend_parsing", AscendParsingFacts)
