"""``cluster_communication.json``: the calls of all ranks, and per group and rank their sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from stepscope.deliver.capture_directory.communication_calls import CommunicationCall
from stepscope.deliver.capture_directory.communication_files import TRANSPORTS, one_call
from stepscope.deliver.cluster_files.nested_file import write_nested
from stepscope.deliver.cluster_files.reported_values import Key

_TOTAL: Final = "Total Op Info"
_TIMES, _BANDS, _SIZES = "Communication Time Info", "Communication Bandwidth Info", "Size Distribution"
_NOTHING: Final = {"Transit Size(MB)": 0, "Transit Time(ms)": 0, "Bandwidth(GB/s)": 0, "Large Packet Ratio": 0}
_SUMMED: Final = ("Transit Time(ms)", "Transit Size(MB)")
_RATIOS: Final = {"Wait Time Ratio": "Wait Time(ms)", "Synchronization Time Ratio": "Synchronization Time(ms)"}


class ClusterCommunication:
    """Calls are kept as text: there are many of them."""

    def __init__(self) -> None:
        # By class and group, then step, then call or total, then rank.
        self._groups: dict[tuple[str, str], dict[str, dict[str, dict[int, bytes]]]] = {}

    def add(self, rank: int, calls: list[CommunicationCall], reported: Mapping[Key, dict[str, Any]]) -> None:
        """Take over the calls of a rank; what its own files report of their bandwidth counts first."""
        own: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for call in calls:
            key, step = f"{call.name}@{call.group}", int(call.step[4:]) if call.step != "step" else None
            entry = one_call(call)
            if (bands := reported.get((step, key))) is not None or reported:
                entry[_BANDS] = _completed(bands or {})
            steps = self._groups.setdefault((call.kind, call.group), {})
            steps.setdefault(call.step, {}).setdefault(key, {}).setdefault(rank, msgspec.json.encode(entry))
            own.setdefault((call.kind, call.group, call.step), []).append(entry)
        for (kind, group, step_name), entries in own.items():
            total = self._groups[kind, group][step_name].setdefault(f"{_TOTAL}@{group}", {})
            total[rank] = msgspec.json.encode(_total(entries))

    def write(self, path: Path, members: Mapping[tuple[str, str], tuple[int, ...]]) -> None:
        """Groups with the same members stand under one key, as their ranks."""
        write_nested(path, self._groups, members)


def _completed(bands: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """All transports that the documents name, also those that were not used."""
    names = [*TRANSPORTS, *(name for name in bands if name not in TRANSPORTS)]
    return {name: {**_NOTHING, _SIZES: {}, **bands.get(name, {})} for name in names}


def _total(entries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    times: dict[str, float] = {}
    bands: dict[str, dict[str, Any]] = {}
    for entry in entries:
        for name, value in entry[_TIMES].items():
            if name not in _RATIOS and name != "Start Timestamp(us)":
                times[name] = times.get(name, 0.0) + value
        for transport, band in entry[_BANDS].items():
            sums = bands.setdefault(transport, {"Transit Time(ms)": 0, "Transit Size(MB)": 0, _SIZES: {}})
            for name in _SUMMED:
                sums[name] += band[name]
            for size, (count, time) in band[_SIZES].items():
                counted = sums[_SIZES].setdefault(size, [0, 0])
                counted[0] += count
                counted[1] += time
    for name, part in _RATIOS.items():
        times[name] = _ratio(times[part], times[part] + times["Transit Time(ms)"])
    for sums in bands.values():
        sums["Bandwidth(GB/s)"] = _ratio(sums["Transit Size(MB)"], sums["Transit Time(ms)"])
    return {_TIMES: times, _BANDS: bands}


def _ratio(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0
