"""What the tracks of a Chrome trace are, by the names that their writers give to processes and threads."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from stepscope.facts.chrome import chrome_facts
from stepscope.readers.trace_json.event_columns import EventColumns


@dataclass
class TrackRoles:
    """Numbers of tracks by what lies on them."""

    device: dict[int, str] = field(default_factory=dict)  # with the device's kind
    summary: set[int] = field(default_factory=set)  # of the device, but only sums up or repeats others
    operators: set[int] = field(default_factory=set)  # of a framework, on the host
    beside: set[int] = field(default_factory=set)  # of the device, transfers beside its operations
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
        if role == "device":
            threads = {
                number: str(columns.metadata.get(("thread_name", pid, tid), {}).get("name", ""))
                for tid, number in tracks_of[pid]
            }
            _add_device(roles, device[0], threads)
            with_streams.add(device[1])
        for _, number in tracks_of[pid]:
            if role == "again":
                again[device[1]].append((number, device[0]))
            elif role == "operators":
                roles.operators.add(number)
    for name, tracks in again.items():
        roles.device |= dict(tracks)
        if name in with_streams:
            roles.summary |= {number for number, _ in tracks}
    return roles


def _add_device(roles: TrackRoles, kind: str, threads: dict[int, str]) -> None:
    """The tracks of one process of a device, by the names of their threads."""
    known = chrome_facts().xla
    has_streams = any(thread.startswith(known.streams) for thread in threads.values())
    sums_up = (*known.sums_up, *(known.sums_up_streams if has_streams else ()))
    for number, thread in threads.items():
        roles.device[number] = kind
        if thread.startswith(sums_up):
            roles.summary.add(number)
        elif thread.startswith(known.beside):
            roles.beside.add(number)


def _meant(process: str) -> tuple[str, str, tuple[str, str]] | None:
    """Role, framework, kind and number of the device of a process; None where its name says nothing."""
    for known in chrome_facts().process:
        if (found := re.match(known.pattern, process)) is not None:
            kind = found[1].lower() if found.re.groups else ""
            return known.role, known.framework, (kind, f"{kind} {found[2]}" if found.re.groups else "")
    return None
