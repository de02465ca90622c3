"""The parallel plan as a user gives it: sizes of dimensions (``tp=8,pp=4``), or a file with groups."""

from __future__ import annotations

import json
import re
from math import prod
from pathlib import Path
from typing import Any, Final

import msgspec
import polars as pl

from stepscope.errors import UnreadableInputError, UsageError
from stepscope.facts.parallel import parallel_facts
from stepscope.store.run_store import RunStore
from stepscope.store.workspace import Workspace
from stepscope.typed import typed

#: Under this name the plan is kept in a workspace.
SECTION: Final = "parallel"
#: What a user says to forget the plan that was given before.
FORGET: Final = "auto"
_DIMENSIONS: Final = ("dp", "tp", "pp", "ep", "cp")
_LARGEST: Final = 1 << 20


class GivenPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes with the order of ranks, the fastest dimension first; or groups of ranks by dimension."""

    sizes: dict[str, int] = {}
    order: list[str] = []
    groups: dict[str, list[list[int]]] = {}


def given_plan(workspace: Workspace | None) -> GivenPlan | None:
    """The plan that was given for a capture, if any."""
    kept = None if workspace is None else workspace.section(SECTION)
    try:
        return None if kept is None else typed(kept, GivenPlan)
    except msgspec.ValidationError:
        return None


def remember_plan(store: RunStore, parallel: str | None, groups: Path | dict[str, Any] | None) -> None:
    """Check what the user gives against the run, and keep it for this and later questions.

    ``groups`` is a file, or what such a file would hold.
    """
    if store.workspace is None or (parallel is None and groups is None):
        return
    if parallel == FORGET:
        store.workspace.keep(SECTION, None)
        return
    plan = GivenPlan(groups=_groups(groups)) if groups is not None else GivenPlan()
    if parallel is not None:
        sizes, order = _sizes(parallel)
        plan = msgspec.structs.replace(plan, sizes=_completed(sizes, store), order=order)
    store.workspace.keep(SECTION, plan)


def _sizes(text: str) -> tuple[dict[str, int], list[str]]:
    """``tp=8,pp=4,order=tp-cp-dp-pp``.

    >>> _sizes("tp=8, pp=4")
    ({'tp': 8, 'pp': 4}, ['tp', 'cp', 'dp', 'pp'])
    """
    sizes: dict[str, int] = {}
    order = list(parallel_facts().order)
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = entry.partition("=")
        name = name.strip().lower()
        if name == "order":
            order = [each.strip().lower() for each in re.split("[->]+", value) if each.strip().lower() != "ep"]
            if sorted(order) != sorted(parallel_facts().order):
                raise UsageError("plan_order", order=value, dimensions="-".join(parallel_facts().order))
        elif name in _DIMENSIONS and value.strip().isdigit() and 0 < int(value) < _LARGEST and name not in sizes:
            sizes[name] = int(value)
        else:
            raise UsageError("plan_not_understood", entry=entry, dimensions=", ".join(_DIMENSIONS))
    if not sizes:
        raise UsageError("plan_not_understood", entry=text, dimensions=", ".join(_DIMENSIONS))
    return sizes, order


def _completed(sizes: dict[str, int], store: RunStore) -> dict[str, int]:
    """All sizes: data parallelism is what the others leave, and the product must be the number of ranks."""
    stated = store.scan("ranks").select(world=pl.max("world_size"), last=pl.max("rank")).collect().row(0)
    world = stated[0] or (stated[1] or 0) + 1
    rest = prod(sizes.get(name, 1) for name in ("tp", "cp", "pp"))
    told = " × ".join(f"{name}={size}" for name, size in sizes.items() if name != "ep")
    dp = sizes.get("dp", world // rest)
    if dp * rest != world:
        raise UsageError("plan_does_not_fit", plan=told, product=rest * sizes.get("dp", 1), ranks=world)
    whole = {name: sizes.get(name, 1) for name in _DIMENSIONS} | {"dp": dp}
    if (dp * whole["cp"]) % whole["ep"]:
        raise UsageError("plan_experts_do_not_fit", ep=whole["ep"], dp=dp * whole["cp"])
    return whole


def _groups(given: Path | dict[str, Any]) -> dict[str, list[list[int]]]:
    """``{"tp": [[0, 1], [2, 3]]}``, or the vendor's ``communication_group.json``."""
    path, content = (given, _read(given)) if isinstance(given, Path) else ("groups", given)
    groups: dict[str, list[list[int]]] = {}
    for dimension, ranks in _entries(content):
        if dimension in _DIMENSIONS and len(ranks) > 1 and ranks not in groups.setdefault(dimension, []):
            groups[dimension].append(ranks)
    if not groups:
        raise UsageError("plan_groups_file", path=str(path), dimensions=", ".join(_DIMENSIONS))
    for dimension, members in groups.items():
        every = [rank for ranks in members for rank in ranks]
        if len(set(every)) < len(every):
            twice = next(rank for rank in every if every.count(rank) > 1)
            raise UsageError("plan_rank_twice", path=str(path), rank=twice, dimension=dimension)
    return {dimension: sorted(members) for dimension, members in groups.items()}


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=str(error)) from error


def _entries(content: Any) -> list[tuple[str, list[int]]]:
    if not isinstance(content, dict):
        return []
    rows = content.get("comm_group_parallel_info")
    if isinstance(rows, list):
        named = [(row.get("pg_name"), row.get("rank_set")) for row in rows if isinstance(row, dict)]
    else:
        named = [(name, ranks) for name, many in content.items() for ranks in (many if isinstance(many, list) else ())]
    facts = parallel_facts()
    return [(facts.dimension(str(name)) or "", _ranks(ranks)) for name, ranks in named]


def _ranks(value: Any) -> list[int]:
    """Members from a list, or from the text of one: ``(0, 1)``."""
    if isinstance(value, str):
        value = re.findall(r"\d{1,9}", value)
    if not isinstance(value, list):
        return []
    try:
        return [rank for each in value if 0 <= (rank := int(each)) < _LARGEST]
    except (TypeError, ValueError, OverflowError):
        return []
