"""Tables of facts, kept as data files beside this module; each file says where its facts come from."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any, Final, TypeVar

import msgspec

Structure = TypeVar("Structure")

_LOADED: Final[dict[str, Any]] = {}


@cache
def table(name: str) -> dict[str, Any]:
    """The content of ``<name>.toml``."""
    return tomllib.loads((resources.files(__package__) / f"{name}.toml").read_text("utf-8"))


def load(name: str, structure: type[Structure]) -> Structure:
    """The content of ``<name>.toml`` as the structure that describes it; a field that does not fit is an error."""
    if name not in _LOADED:
        _LOADED[name] = msgspec.convert(table(name), structure)
    loaded: Structure = _LOADED[name]
    return loaded


@cache
def communication_kernel() -> re.Pattern[str]:
    """Matches names of device kernels that communicate."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in table("communication")["kernel_patterns"]))
