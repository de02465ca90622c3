"""A rule: which kinds it looks for, what data it needs, and how it judges a run. Each file of ``rules/`` holds one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.finding import Finding

_NAME: Final = "RULE"


@dataclass(frozen=True)
class Rule:
    """``needs`` are names of ``needed_data.py``; without them the kinds go to ``not_checked``."""

    kinds: tuple[str, ...]
    needs: tuple[str, ...]
    judge: Callable[[RunContext], Iterable[Finding]]


def all_rules(package: ModuleType | None = None) -> list[Rule]:
    """The rules of all files of a package, by name of the file; of ``rules/`` unless told otherwise."""
    package = package or importlib.import_module("stepscope.diagnosis.rules")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."))
    return [getattr(importlib.import_module(name), _NAME) for name in names]
