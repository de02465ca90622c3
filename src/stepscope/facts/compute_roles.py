"""What kernels do besides computing the model: ``compute_roles.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Roles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Patterns, searched in a kernel's type and name, or in its operator."""

    layout_kernel: str
    layout_operator: str
    cast_kernel: str
    cast_operator: str
    not_an_update: str
    full_precision_product: str
    double_precision_product: str
    moves_a_batch: str
    slow_core: str
    unknown_inputs: str
    library_operator: str
    batched_product: str


class ComputeRolesFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    roles: Roles


def compute_roles_facts() -> ComputeRolesFacts:
    """What kernels do besides computing the model."""
    return load("compute_roles", ComputeRolesFacts)
