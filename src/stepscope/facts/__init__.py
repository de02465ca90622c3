"""Tables of facts, kept as data files beside this module; each file says where its facts come from."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """The content of ``<name>.toml``."""
    return tomllib.loads((resources.files(__package__) / f"{name}.toml").read_text("utf-8"))


@cache
def communication_kernel() -> re.Pattern[str]:
    """Matches names of device kernels that communicate."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in table("communication")["kernel_patterns"]))
