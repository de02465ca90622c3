"""Runs that others are compared with, by name: in the user's workspace, with the paths of their captures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepscope.errors import UsageError
from stepscope.store.workspace import shared_workspace

_SECTION: Final = "baselines"


@dataclass(frozen=True)
class Baseline:
    """Where a baseline's capture lies, and which of its windows is meant."""

    paths: list[Path]
    window: str


def save_baseline(name: str, paths: Sequence[Path], window: str) -> None:
    """Give a run a name; one that had it before loses it."""
    entry = {"paths": [str(path.resolve()) for path in paths], "window": window}
    shared_workspace().keep(_SECTION, {**shared_workspace().entries(_SECTION), name: entry})


def baseline(name: str) -> Baseline:
    """The run of a name."""
    known = shared_workspace().entries(_SECTION)
    if name not in known:
        raise UsageError("no_such_baseline", name=name, names=", ".join(sorted(known)) or "–")
    entry = known[name]
    return Baseline([Path(path) for path in entry["paths"]], entry["window"])
