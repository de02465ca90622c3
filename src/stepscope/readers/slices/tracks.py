"""Names and order of tracks from a trace's metadata events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.readers.trace_json.codes import Codes


class Described(NamedTuple):
    """A track as its reader knows it, where the metadata events mean another one."""

    name: str
    label: str  # of the process
    process_order: int


def track_rows(
    tracks: Codes,
    metadata: dict[tuple[str, Any, Any], dict[str, Any]],
    kinds: dict[int, str],
    described: Mapping[int, Described] | None = None,
) -> pl.DataFrame:
    """Rows of ``tracks``. ``kinds`` gives the kind of those in use, by number; the others are left out."""
    process = {(name, pid): values for (name, pid, _), values in metadata.items() if name.startswith("process_")}
    rows = []
    for (pid, tid, *_), number in tracks.items():
        if number not in kinds:
            continue
        process_name = _value(process.get(("process_name", pid)), "name")
        label = _value(process.get(("process_labels", pid)), "labels")
        thread_name = _value(metadata.get(("thread_name", pid, tid)), "name")
        process_order = _value(process.get(("process_sort_index", pid)), "sort_index")
        if described and number in described:
            thread_name, label, process_order = described[number]
        on_device = kinds[number] == "stream"
        order = (
            order_number(process_order),
            str(process_name or ""),
            order_number(pid),
            str(pid),
            order_number(_value(metadata.get(("thread_sort_index", pid, tid)), "sort_index")),
            order_number(tid),
            str(tid),
        )
        rows.append(
            (
                order,
                {
                    "track": number,
                    "kind": kinds[number],
                    "name": str(thread_name or _named_by_number(tid, "stream" if on_device else "thread")),
                    "process": " ".join(str(part) for part in (process_name, label) if part)
                    or _named_by_number(pid, "device" if on_device else "process"),
                    "thread": str(tid),
                },
            )
        )
    rows.sort(key=lambda row: row[0])
    return pl.DataFrame([{**row, "order": position} for position, (_, row) in enumerate(rows)])


def kinds_of_tracks(track: npt.NDArray[np.int32], on_device: npt.NDArray[np.bool_]) -> dict[int, str]:
    """``stream`` for tracks with device work, ``host`` for the rest that have slices."""
    kinds = dict.fromkeys(np.flatnonzero(np.bincount(track)).tolist(), "host")
    kinds.update(dict.fromkeys(np.flatnonzero(np.bincount(track[on_device])).tolist(), "stream"))
    return kinds


def _named_by_number(identity: Any, what: str) -> str:
    """What has no name of its own; text is one already.

    >>> _named_by_number(2, "device"), _named_by_number("main", "thread")
    ('device 2', 'main')
    """
    return identity if isinstance(identity, str) and identity and not identity.isdigit() else f"{what} {identity}"


def _value(values: dict[str, Any] | None, key: str) -> Any:
    return None if values is None else values.get(key)


def order_number(value: Any) -> float:
    """A number that tracks are ordered by; what states none comes last."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("inf")
