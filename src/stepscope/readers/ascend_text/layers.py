"""Which layer of the system each track of a timeline belongs to, from the names of processes and threads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stepscope.arrays import Int32s
from stepscope.facts.ascend import ascend_facts
from stepscope.readers.slices.tracks import order_number
from stepscope.readers.trace_json.codes import Codes

LAYERS: Final = (
    "python",
    "mindspore",
    "cpu_op",
    "gc",
    "cann",
    "hardware",
    "group",
    "plane",
    "vendor",
    "annotation",
    "unknown",
)
CODE: Final = {name: code for code, name in enumerate(LAYERS)}
TRACK_KINDS: Final = {
    "hardware": "stream",
    "group": "plane",
    "plane": "plane",
    "vendor": "vendor",
    "annotation": "annotation",
}
_RANK_SUFFIX: Final = re.compile(r"\s+Rank\s*\d+$")
_PLANE: Final = re.compile(r"^Plane (\d{1,9})")
_STREAM: Final = re.compile(r"^Stream (\d{1,18})")
_LAYER_BITS, _DEVICE_BITS = 5, 5  # pid = host pid << 10 | layer << 5 | device


@dataclass
class KnownTracks:
    """What is known of each track, by its number."""

    layer: Int32s  # code of LAYERS
    plane: dict[int, int]  # number of the plane
    group_of_plane: dict[int, int]  # track of the group's whole calls
    stream: dict[int, int]
    same_thread: dict[int, int]  # track of the framework's layer for the same host thread
    device: list[int]  # device numbers, from the process numbers

    def tracks_of(self, layer: str) -> list[int]:
        return [int(number) for number in np.flatnonzero(self.layer == CODE[layer])]


def known_tracks(tracks: Codes, metadata: dict[tuple[str, Any, Any], dict[str, Any]]) -> KnownTracks:
    """Understand all tracks at once; the file may name a process after its events."""
    processes = {pid: values.get("name") for (name, pid, _), values in metadata.items() if name == "process_name"}
    threads = {
        (pid, tid): str(values.get("name") or "")
        for (name, pid, tid), values in metadata.items()
        if name == "thread_name"
    }
    pids = {pid for pid, _ in tracks}
    result = KnownTracks(np.full(len(tracks), CODE["unknown"], np.int32), {}, {}, {}, {}, [])
    devices = set()
    host_threads = {}
    for (pid, tid), number in tracks.items():
        layer = _layer(pid, processes.get(pid), threads.get((pid, tid), ""), pids)
        thread = threads.get((pid, tid), "")
        if layer == "plane" and (match := _PLANE.match(thread)):
            result.plane[number] = int(match[1])
        if layer == "hardware" and (match := _STREAM.match(thread)):
            result.stream[number] = int(match[1])
        if layer in ("hardware", "group", "plane") and isinstance(pid, int) and pid >> 10:
            devices.add(pid & ((1 << _DEVICE_BITS) - 1))
        if layer in ("python", "mindspore"):
            host_threads[tid] = number
        result.layer[number] = CODE[layer]
    for (_, tid), number in tracks.items():
        if result.layer[number] == CODE["cann"] and tid in host_threads:
            result.same_thread[number] = host_threads[tid]
    result.group_of_plane = _groups_of_planes(tracks, metadata, result)
    result.device = sorted(devices)
    return result


def _layer(pid: Any, process: Any, thread: str, pids: set[Any]) -> str:
    known = ascend_facts().layers.get(_RANK_SUFFIX.sub("", process)) if isinstance(process, str) else None
    if known is None and process is None and isinstance(pid, int) and pid >> 10 in pids:
        known = ascend_facts().layer_numbers.get(str(pid >> _DEVICE_BITS & ((1 << _LAYER_BITS) - 1)))
    if known == "communication":
        return "plane" if _PLANE.match(thread) else "group"
    if known == "hardware" and thread.startswith("Step Trace"):
        return "vendor"
    if known == "hardware" and "MSTX" in thread:
        return "annotation"
    return str(known or "unknown")


def _groups_of_planes(
    tracks: Codes, metadata: dict[tuple[str, Any, Any], dict[str, Any]], known: KnownTracks
) -> dict[int, int]:
    """The planes of a group stand behind the row of its whole calls."""
    members: dict[Any, list[tuple[float, int]]] = {}
    for (pid, tid), number in tracks.items():
        if known.layer[number] in (CODE["group"], CODE["plane"]):
            sort_index = metadata.get(("thread_sort_index", pid, tid), {}).get("sort_index", tid)
            members.setdefault(pid, []).append((order_number(sort_index), number))
    group_of_plane: dict[int, int] = {}
    for listed in members.values():
        group = None
        for _, number in sorted(listed):
            if known.layer[number] == CODE["group"]:
                group = number
            elif group is not None:
                group_of_plane[number] = group
    return group_of_plane
