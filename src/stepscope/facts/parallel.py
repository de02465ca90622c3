"""How the parallel plan of a job is known: ``parallel.toml``, typed."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from stepscope.facts import load


class GroupName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the name of a group tells; an empty dimension is none of them."""

    pattern: str
    dimension: Literal["tp", "cp", "ep", "dp", "pp", ""]


class Calls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What calls tell of the group that makes them."""

    first_reduction_share: float
    least_sent_share: float
    reductions: list[str]


class Parallel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    order: list[str]
    group_name: list[GroupName]
    calls: Calls

    def dimension(self, group: str | None) -> str | None:
        """The dimension that a group's name tells; empty for groups of none, None where the name tells nothing.

        >>> facts = parallel_facts()
        >>> [facts.dimension(name) for name in ("TENSOR_MODEL_PARALLEL_GROUP", "mesh_dp", "default_pg", "undefined")]
        ['tp', 'dp', '', None]
        """
        name = (group or "").lower()
        return next((each.dimension for each in self.group_name if name and re.search(each.pattern, name)), None)


def parallel_facts() -> Parallel:
    """Parallel plans."""
    return load("parallel", Parallel)
