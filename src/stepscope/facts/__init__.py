"""Tables of facts, kept as data files beside this module; each file says where its facts come from."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any, Final, TypeVar

from stepscope.typed import typed

Structure = TypeVar("Structure")

_LOADED: Final[dict[str, Any]] = {}


@cache
def table(name: str) -> dict[str, Any]:
    """The content of ``<name>.toml``."""
    return tomllib.loads((resources.files(__package__) / f"{name}.toml").read_text("utf-8"))


def load(name: str, structure: type[Structure]) -> Structure:
    """The content of ``<name>.toml`` as the structure that describes it; a field that does not fit is an error."""
    if name not in _LOADED:
        from stepscope.facts.thresholds import with_chosen

        _LOADED[name] = typed(with_chosen(name, table(name)), structure)
    loaded: Structure = _LOADED[name]
    return loaded


def forget(names: Iterable[str]) -> None:
    """Load these tables anew when they are next asked for."""
    for name in names:
        _LOADED.pop(name, None)
