"""What the tracks of a Chrome trace are, by the names that their writers give to processes and threads."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from stepscope.facts.chrome import chrome_facts
from stepscope.readers.trace_json.event_columns import EventColumns

# Rows that XProf computes itself: they sum up the operations below them.
_SUMMARY_THREADS: Final = ("Steps", "XLA Modules", "Framework Name Scope", "Framework Ops", "Source code")


@dataclass
class TrackRoles:
    """Numbers of tracks by what lies on them."""

    device: dict[int, str] = field(default_factory=dict)  # with the device's kind
    summary: set[int] = field(default_factory=set)  # of the device, but only sums up or repeats others
    operators: set[int] = field(default_factory=set)  # of a framework, on the host
    framework: str | None = None


def track_roles(columns: EventColumns) -> TrackRoles:
    """The roles of all tracks whose processes are known by name."""
    roles = TrackRoles()
    again: dict[str, list[tuple[int, str]]] = defaultdict(list)  # by device
    with_streams: set[str] = set()
    tracks_of: dict[Any, list[tuple[Any, int]]] = defaultdict(list)
    for (pid, tid), number in columns.tracks.items():
        tracks_of[pid].append((tid, number))
    for (kind, pid, _), values in columns.metadata.items():
        meant = _meant(str(values.get("name", ""))) if kind == "process_name" else None
        if meant is None or pid not in tracks_of:
            continue
        role, roles.framework, device = meant
        for tid, number in tracks_of[pid]:
            if role == "device":
                roles.device[number] = device[0]
                with_streams.add(device[1])
                thread = str(columns.metadata.get(("thread_name", pid, tid), {}).get("name", ""))
                if thread.startswith(_SUMMARY_THREADS):
                    roles.summary.add(number)
            elif role == "again":
                again[device[1]].append((number, device[0]))
            elif role == "operators":
                roles.operators.add(number)
    for name, tracks in again.items():
        roles.device |= dict(tracks)
        if name in with_streams:
            roles.summary |= {number for number, _ in tracks}
    return roles


def _meant(process: str) -> tuple[str, str, tuple[str, str]] | None:
    """Role, framework, kind and number of the device of a process; None where its name says nothing."""
    for known in chrome_facts().process:
        if (found := re.match(known.pattern, process)) is not None:
            kind = found[1].lower() if found.re.groups else ""
            return known.role, known.framework, (kind, f"{kind} {found[2]}" if found.re.groups else "")
    return None
