"""Where scenarios come from: the library, a user's TOML file, or a table; and the same job in another size."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from stepscope.errors import UnreadableInputError, UsageError
from stepscope.simulate.scenario import Scenario
from stepscope.simulate.scenario_checks import checked, misfit
from stepscope.typed import typed

_LIBRARY = resources.files("stepscope.simulate") / "library"


def names() -> list[str]:
    """Scenarios that come with Stepscope."""
    return sorted(entry.name.removesuffix(".toml") for entry in _LIBRARY.iterdir() if entry.name.endswith(".toml"))


def load_scenario(name_or_file: str) -> Scenario:
    """A scenario of the library by its name, or a file."""
    if name_or_file in names():
        return parse((_LIBRARY / f"{name_or_file}.toml").read_text("utf-8"), name_or_file)
    path = Path(name_or_file)
    if not path.suffix and not path.exists():
        raise UsageError("no_such_scenario", name=name_or_file, names=", ".join(names()))
    try:
        return parse(path.read_text("utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=str(error)) from error


def parse(text: str, origin: str) -> Scenario:
    """A scenario from the text of its file."""
    try:
        return of_table(tomllib.loads(text), origin)
    except tomllib.TOMLDecodeError as error:
        raise UnreadableInputError("bad_scenario", path=origin, reason=str(error)) from error


def of_table(content: dict[str, Any], origin: str) -> Scenario:
    """A scenario from the table that its file holds."""
    try:
        whole = _extended(dict(content))
        whole.setdefault("name", Path(origin).stem)
        return checked(typed(whole, Scenario), origin)
    except msgspec.ValidationError as error:
        raise misfit(error, origin) from error


def _extended(content: dict[str, Any]) -> dict[str, Any]:
    """The content on top of what it extends: tables are merged, everything else is replaced."""
    base = content.pop("extends", None)
    if base is None:
        return content
    if base not in names():
        raise UsageError("no_such_scenario", name=base, names=", ".join(names()))
    merged = _extended(tomllib.loads((_LIBRARY / f"{base}.toml").read_text("utf-8")))
    for key, value in content.items():
        below = merged.get(key, {})
        merged[key] = {**below, **value} if isinstance(value, dict) and isinstance(below, dict) else value
    return merged


def resized(scenario: Scenario, *, ranks: int | None, steps: int | None, seed: int | None) -> Scenario:
    """The scenario with more or fewer ranks (by data parallelism), steps, or another seed."""
    changes: dict[str, Any] = {}
    if ranks is not None:
        replica = scenario.plan.tp * scenario.plan.pp * scenario.plan.cp
        if ranks % replica or (ranks // replica) % scenario.plan.ep:
            unit = replica * scenario.plan.ep
            raise UsageError("ranks_do_not_fit", ranks=ranks, unit=unit)
        changes["plan"] = msgspec.structs.replace(scenario.plan, dp=ranks // replica)
    if steps is not None:
        changes["steps"] = steps
    if seed is not None:
        changes["seed"] = seed
    return checked(msgspec.structs.replace(scenario, **changes), scenario.name)
