"""Tables that a vendor made: ``vendor_tables.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class VendorTablesFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    operators: tuple[str, ...]


def vendor_tables_facts() -> VendorTablesFacts:
    """Tables that a vendor made."""
    return load("vendor_tables", VendorTablesFacts)
