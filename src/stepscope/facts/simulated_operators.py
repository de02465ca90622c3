"""How simulated work is called: ``simulated_operators.toml``, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class OperatorNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names of one kind of operator on each kind of device."""

    operator: str
    backward: str
    gpu: str
    npu: str
    core: str


def simulated_operators_facts() -> dict[str, OperatorNames]:
    """Names by kind of operator."""
    return load("simulated_operators", dict[str, OperatorNames])
