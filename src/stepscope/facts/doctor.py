"""Below which amounts the doctor warns: ``doctor.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class DoctorFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    least_memory_gib: float
    least_disk_gib: float


def doctor_facts() -> DoctorFacts:
    """Below which amounts the doctor warns."""
    return load("doctor", DoctorFacts)
