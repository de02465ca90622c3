"""JSON of many calls, written group by group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

Group = tuple[str, str]  # class of calls and hash


def write_nested(
    path: Path, groups: Mapping[Group, Mapping[str, Any]], members: Mapping[Group, tuple[int, ...]]
) -> None:
    """``{"(ranks)": {step: {call: {rank or link: …}}}}``; the innermost may be text of JSON already."""
    by_members: dict[str, list[Group]] = defaultdict(list)
    for group in sorted(groups):
        by_members[str(members[group])].append(group)
    with path.open("wb") as file:
        separator = b"{"
        for ranks, same_members in by_members.items():
            steps: dict[str, dict[str, Any]] = {}
            for group in same_members:
                for step, calls in groups[group].items():
                    merged = steps.setdefault(step, {})
                    merged.update({name: _raw(entries) for name, entries in calls.items()})
            file.write(separator + msgspec.json.encode(ranks) + b":" + msgspec.json.encode(steps))
            separator = b",\n"
        file.write(b"}\n" if separator != b"{" else b"{}\n")


def _raw(entries: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): msgspec.Raw(value) if isinstance(value, bytes) else value for key, value in entries.items()}
