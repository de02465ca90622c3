"""What this machine has, whether it fits together, and what can be recorded on it; nothing heavy is imported."""

from __future__ import annotations

from stepscope.doctor.accelerators import accelerator_checks
from stepscope.doctor.check import Check, Examination
from stepscope.doctor.recordable import recordable
from stepscope.doctor.resources import resource_checks
from stepscope.doctor.versions import version_checks


def examine() -> Examination:
    """All checks of this machine, and what follows from them."""
    checks: list[Check] = [*version_checks(), *accelerator_checks(), *resource_checks()]
    return Examination(checks=checks, recordable=recordable(checks))
