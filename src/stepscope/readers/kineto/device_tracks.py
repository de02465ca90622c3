"""Where a process has the number of a device: both write it as their ``pid``, so it must be told what is whose.

Small process ids are those of containers. Writers announce all devices a machine could have, used or not.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.arrays import Bools, Int32s
from stepscope.readers.kineto.categories import ON_DEVICE, kind_of_category
from stepscope.readers.slices.tracks import Described
from stepscope.readers.trace_json.event_columns import EventColumns

_HOST_CATEGORIES: Final = ("user_annotation", "cpu_op", "operator")
_HOST_KINDS: Final = ("runtime", "python")
_DEVICE: Final = "device"  # the third part of the key of a stream that shares its numbers with a thread
_HOST_LABEL, _DEVICE_LABEL = "CPU", "GPU"
_STREAM_NAME: Final = "stream "
_DEVICES_ORDER: Final = 5_000_000  # as the writer sorts devices: behind all processes


class DeviceTracks:
    """Which tracks lie on the host and which on a device, as the categories of their slices say."""

    def __init__(self, columns: EventColumns, track: Int32s, category: Int32s) -> None:
        self._columns = columns
        words = [(text or "").lower() for text in columns.categories.texts()] or [""]
        self.on_device: Bools = np.array([word in ON_DEVICE for word in words])[category]
        on_host = np.array([word in _HOST_CATEGORIES or kind_of_category(word) in _HOST_KINDS for word in words])
        self._host = _used(track[on_host[category]])

    def apart(self, track: Int32s) -> Int32s:
        """The track of each slice, such that device and host never share one."""
        shared = self._host & _used(track[self.on_device])
        if not shared:
            return track
        tracks = self._columns.tracks
        moved = np.arange(len(tracks), dtype=np.int32)
        for number, (pid, tid) in enumerate(list(tracks)):
            if number in shared:
                moved[number] = tracks[pid, tid, _DEVICE]
        return np.where(self.on_device, moved[track], track)

    def described(self, kinds: dict[int, str]) -> dict[int, Described]:
        """By track, what its ``pid`` and ``tid`` do not tell, for processes that have the number of a device."""
        keys, metadata = list(self._columns.tracks), self._columns.metadata
        labels = {pid: values.get("labels") for (name, pid, _), values in metadata.items() if name == "process_labels"}
        devices = {keys[number][0] for number, kind in kinds.items() if kind == "stream"}
        devices |= {pid for pid, label in labels.items() if label not in (None, _HOST_LABEL)}
        both = devices & {keys[number][0] for number in self._host & kinds.keys()}
        described: dict[int, Described] = {}
        for number, kind in kinds.items():
            pid, tid, *_ = keys[number]
            if pid not in both or not isinstance(pid, int):
                continue
            name = str(metadata.get(("thread_name", pid, tid), {}).get("name") or tid)
            is_stream = name.startswith(_STREAM_NAME)
            if kind == "stream":
                label = labels.get(pid)
                label = _DEVICE_LABEL if label in (None, _HOST_LABEL) else str(label)
                described[number] = Described(
                    name if is_stream else f"{_STREAM_NAME}{tid}", label, _DEVICES_ORDER + pid
                )
            elif number in self._host:
                named = not is_stream and name != str(tid)
                described[number] = Described(name if named else f"thread {tid}", _HOST_LABEL, pid)
        return described


def _used(track: Int32s) -> set[int]:
    return set(np.flatnonzero(np.bincount(track)).tolist())
