"""Thresholds: the numbers of some tables, each with a name, and those that a user gives in a file of their own.

A name is that of the table and of the keys in it, ``findings.strength.mild_share``. The file is TOML and says what
differs. It is handed on by an environment variable, so that processes that this one starts take it, too.
"""

from __future__ import annotations

import difflib
import math
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from stepscope import facts

ENVIRONMENT: Final = "STEPSCOPE_THRESHOLDS"
#: Tables whose numbers are limits for conclusions. Others hold facts (rates, sizes) or limits of the program itself.
TABLES: Final = (
    "critical_path",
    "decision_trees",
    "delimitation",
    "findings",
    "host_activity",
    "launches",
    "memory",
    "pipeline",
    "replay",
    "steps",
)


class UnusableThresholdsError(ValueError):
    """A file of thresholds that cannot be used; ``code`` and ``params`` say why, as an entry of the texts does."""

    def __init__(self, code: str, **params: object) -> None:
        super().__init__(code, params)
        self.code = code
        self.params = params


def shipped() -> dict[str, float]:
    """All thresholds by name, as shipped with the package."""
    return {f"{table}.{name}": value for table in TABLES for name, value in _numbers(facts.table(table))}


def read(path: Path) -> dict[str, float]:
    """The thresholds of a user's file, checked: names that exist, numbers of the right kind."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnusableThresholdsError("thresholds_unreadable", path=str(path), reason=reason) from None
    except tomllib.TOMLDecodeError as error:
        raise UnusableThresholdsError("thresholds_no_toml", path=str(path), reason=str(error)) from None
    known = shipped()
    given = dict(_leaves(content))
    for name, value in given.items():
        _check(name, value, known)
    return given


def use(path: Path | None) -> None:
    """Take the thresholds of a file from now on, here and in processes that start later; None for the shipped ones."""
    if path is None:
        os.environ.pop(ENVIRONMENT, None)
    else:
        read(path)
        os.environ[ENVIRONMENT] = str(path.resolve())
    facts.forget(TABLES)


def chosen() -> dict[str, float]:
    """What a user has set; empty where all is as shipped."""
    path = os.environ.get(ENVIRONMENT)
    return read(Path(path)) if path else {}


def in_use() -> dict[str, float]:
    """All thresholds by name, with what a user has set."""
    return shipped() | chosen()


def with_chosen(table: str, content: dict[str, Any]) -> dict[str, Any]:
    """The content of a table with what a user has set in it."""
    if table not in TABLES:
        return content
    for name, value in chosen().items():
        home, *keys, last = name.split(".")
        if home == table:
            content = _replaced(content, keys, last, value)
    return content


def _replaced(content: dict[str, Any], keys: list[str], last: str, value: float) -> dict[str, Any]:
    if not keys:
        return {**content, last: value}
    return {**content, keys[0]: _replaced(content[keys[0]], keys[1:], last, value)}


def _check(name: str, value: object, known: dict[str, float]) -> None:
    if name not in known:
        # Users often remember the last key only.
        endings = {each.rpartition(".")[2]: each for each in known}
        near = difflib.get_close_matches(name, known, 3, 0.5)
        near += [endings[end] for end in difflib.get_close_matches(name.rpartition(".")[2], endings, 3, 0.7)]
        raise UnusableThresholdsError("no_such_threshold", name=name, near=", ".join(dict.fromkeys(near)) or "–")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(float(str(value))) or float(str(value)) < 0:
        raise UnusableThresholdsError("threshold_no_number", name=name, value=value)
    if isinstance(known[name], int) and not isinstance(value, int):
        raise UnusableThresholdsError("threshold_no_whole_number", name=name, value=value)


def _numbers(content: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in _leaves(content):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield name, value


def _leaves(content: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
