"""Runs, or parts of one, put side by side: how the sides are named, and more than two in a row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from stepscope.compare.comparison import Comparison
from stepscope.compare.gates import checked_gates, passed_through
from stepscope.compare.history import history
from stepscope.compare.question import compare
from stepscope.compare.side import Side
from stepscope.diagnosis.diagnose import diagnose
from stepscope.errors import UsageError


def compare_sides(sides: Sequence[Side], fail_if: Sequence[str] = ()) -> Comparison:
    """The first against the last; where there are more, a history of all."""
    if len(sides) < 2:  # one thing cannot differ
        raise UsageError("compare_needs_two")
    gates = checked_gates(list(fail_if))
    comparison = compare(sides[0], sides[-1])
    judged = (
        passed_through(comparison, diagnose(sides[-1].store, ranks=sides[-1].ranks).data.findings, gates)
        if gates
        else []
    )
    return msgspec.structs.replace(comparison, history=history(sides), gates=judged)


def named(sides: Sequence[Side]) -> list[Side]:
    """Sides with names that tell them apart: by file, else by window, ranks and steps."""
    paths = [Path(side.store.manifest.capture).name for side in sides]
    names = (
        paths
        if len(set(paths)) == len(paths)
        else [_described(side, path) for side, path in zip(sides, paths, strict=True)]
    )
    return [Side(side.store, name, side.ranks, side.steps) for side, name in zip(sides, names, strict=True)]


def _described(side: Side, path: str) -> str:
    parts = [path]
    if side.store.manifest.window not in path:
        parts.append(side.store.manifest.window)
    if side.steps:
        parts.append(f"step {', '.join(map(str, side.steps))}")
    return " · ".join(parts)
