"""The text files of a cluster analysis: steps as CSV, calls, links and groups as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import polars as pl

from stepscope.readers.ascend import vendor_numbers as vendor
from stepscope.readers.ascend.csv_table import CsvTable
from stepscope.readers.ascend.identity import group_id
from stepscope.readers.cluster_analysis.rows import (
    BAND_TYPES,
    COORDINATES,
    LINK_TYPES,
    TIME_TYPES,
    Cluster,
    Schema,
)
from stepscope.readers.files.reading import Reading
from stepscope.store.notes import Notes

GROUPS: Final = "communication_group.json"

_MOST_BYTES: Final = 4 << 30
_TOTAL: Final = "Total Op Info"
_Number = float | str | None


class _Band(msgspec.Struct, gc=False):
    size: _Number = msgspec.field(name="Transit Size(MB)", default=None)
    time: _Number = msgspec.field(name="Transit Time(ms)", default=None)
    bandwidth: _Number = msgspec.field(name="Bandwidth(GB/s)", default=None)
    large: _Number = msgspec.field(name="Large Packet Ratio", default=None)
    packets: dict[str, list[_Number]] = msgspec.field(name="Size Distribution", default_factory=dict)


class _Times(msgspec.Struct, gc=False):
    start: msgspec.Raw = msgspec.field(name="Start Timestamp(us)", default=msgspec.Raw())
    elapse: _Number = msgspec.field(name="Elapse Time(ms)", default=None)
    transit: _Number = msgspec.field(name="Transit Time(ms)", default=None)
    wait: _Number = msgspec.field(name="Wait Time(ms)", default=None)
    sync: _Number = msgspec.field(name="Synchronization Time(ms)", default=None)
    idle: _Number = msgspec.field(name="Idle Time(ms)", default=None)
    wait_ratio: _Number = msgspec.field(name="Wait Time Ratio", default=None)
    sync_ratio: _Number = msgspec.field(name="Synchronization Time Ratio", default=None)

    def values(self) -> tuple[_Number, ...]:
        """In the order of the columns; the start as its own digits."""
        spans = (self.elapse, self.transit, self.wait, self.sync, self.idle, self.wait_ratio, self.sync_ratio)
        return bytes(self.start).decode("utf-8", "replace"), *spans


class _Call(msgspec.Struct, gc=False):
    times: _Times = msgspec.field(name="Communication Time Info", default_factory=_Times)
    bands: dict[str, _Band] = msgspec.field(name="Communication Bandwidth Info", default_factory=dict)


#: Members of a group, step, call, and then rank or link.
_CALLS: Final = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, _Call]]]])
_LINKS: Final = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, dict[str, _Number]]]]])
_LISTS: Final = msgspec.json.Decoder(dict[str, list[Any]])


def read_steps(path: Path, cluster: Cluster, reading: Reading) -> None:
    """``cluster_step_trace_time.csv``."""
    cluster.source_of["steps"] = path.name
    frames = []
    for rows in CsvTable([path], reading).pieces():
        columns = {"step": rows.text("Step"), "type": rows.text("Type"), "index": rows.text("Index")}
        columns |= {name: rows.number(header) for name, header in vendor.STEP_COLUMNS.items()}
        columns |= {name: rows.integer(header) for name, header in COORDINATES.items()}
        frames.append(pl.DataFrame(columns))
    cluster.steps = pl.concat([cluster.steps, *frames])


def read_calls(path: Path, cluster: Cluster, reading: Reading) -> None:
    """``cluster_communication.json``."""
    cluster.source_of["calls"] = path.name
    times: list[tuple[Any, ...]] = []
    bands: list[tuple[Any, ...]] = []
    for step, name, group, ranks in _entries(path, _CALLS, cluster, reading.notes):
        for rank, call in ranks.items():
            call_key = (rank, name, group, step)
            times.append((*call_key, *call.times.values()))
            for transport, band in call.bands.items():
                header = (*call_key, transport, band.size, band.time, band.bandwidth, band.large)
                packets = [(size, *counted[:2]) for size, counted in band.packets.items() if len(counted) >= 2]
                bands += [(*header, *packet) for packet in packets or [(None, None, None)]]
    cluster.times, cluster.bands = _frame(times, TIME_TYPES), _frame(bands, BAND_TYPES)


def read_links(path: Path, cluster: Cluster, reading: Reading) -> None:
    """``cluster_communication_matrix.json``."""
    cluster.source_of["links"] = path.name
    rows: list[tuple[Any, ...]] = []
    columns = ("Transport Type", *vendor.LINK_COLUMNS.values())
    for step, name, group, links in _entries(path, _LINKS, cluster, reading.notes):
        for link, values in links.items():
            source, _, target = link.partition("-")
            rows.append((source, name, group, step, source, target, *map(values.get, columns)))
    cluster.links = _frame(rows, LINK_TYPES)


def read_groups(path: Path, cluster: Cluster, reading: Reading) -> None:
    """``communication_group.json``; old ones list only members, which then name the group."""
    content = _loaded(path, _LISTS, reading.notes)
    for row in content.get("comm_group_parallel_info", []):
        if isinstance(row, dict) and isinstance(row.get("rank_set"), (list, str)):
            name = str(row.get("group_name") or row.get("group_id") or "")
            cluster.add_group(group_id(name), row["rank_set"], str(row["pg_name"]) if row.get("pg_name") else None)
    listed = {tuple(group["ranks"]) for group in cluster.groups.values()}
    for kind in ("collective", "p2p"):
        for members in content.get(kind, []):
            ranks = tuple(rank for rank in members if isinstance(rank, int)) if isinstance(members, list) else ()
            if ranks and ranks not in listed:
                cluster.add_group(f"{kind} {ranks}", ranks)


#: The files in the order in which they are read, by name.
READERS: Final[dict[str, Callable[[Path, Cluster, Reading], None]]] = {
    "cluster_step_trace_time.csv": read_steps,
    "cluster_communication.json": read_calls,
    "cluster_communication_matrix.json": read_links,
    GROUPS: read_groups,
}


def _entries(
    path: Path, decoder: Any, cluster: Cluster, notes: Notes
) -> Iterator[tuple[str, str, str | None, dict[str, Any]]]:
    """Step, name, group and content of each call; the key above them lists the members of the group."""
    for members, steps in _loaded(path, decoder, notes).items():
        for step, calls in steps.items():
            for key, content in calls.items():
                name, _, group = key.rpartition("@")
                if name and not name.startswith(_TOTAL):
                    cluster.add_group(group, members)
                yield step, name or group, group if name else None, content


def _loaded(path: Path, decoder: Any, notes: Notes) -> Any:
    try:
        if path.stat().st_size <= _MOST_BYTES:
            return decoder.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    notes.add("cluster_file_unreadable", file=path.name)
    return {}


def _frame(rows: list[tuple[Any, ...]], schema: Schema) -> pl.DataFrame:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pl.DataFrame(
        [
            pl.Series(name, list(values), schema[name], strict=False)
            for name, values in zip(schema, columns, strict=True)
        ]
    )
