"""The entries of a dump as calls, and its process groups."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from stepscope.facts.communication import communication_facts
from stepscope.readers.slices.call_log import CALL
from stepscope.readers.slices.collective_names import collective_kind

_ENDS: Final = re.compile(r"(\d{1,9})\s*(?:->|<-)\s*(\d{1,9})")
_RANKS: Final = re.compile(r"\d{1,9}")
_RANKS_SHOWN: Final = 8
_LATEST_NS: Final = 1 << 62
#: What else an entry tells, for whoever opens the call.
_DETAILS: Final = (
    "state",
    "retired",
    "op_id",
    "pg_id",
    "time_created_ns",
    "time_discovered_started_ns",
    "time_discovered_completed_ns",
    "duration_ms",
    "input_sizes",
    "output_sizes",
    "input_dtypes",
    "output_dtypes",
    "timeout_ms",
    "thread_name",
)


@dataclass(frozen=True)
class Group:
    """A process group. Groups that were split share their name, so the members are part of ``id``."""

    id: str
    description: str
    ranks: list[int]


def groups_of(config: Any) -> dict[str, Group]:
    """By the name that entries carry."""
    groups = {}
    for key, told in config.items() if isinstance(config, dict) else ():
        if isinstance(told, dict):
            name, ranks = str(told.get("name") or key), [int(rank) for rank in _RANKS.findall(str(told.get("ranks")))]
            groups[name] = Group(_identity(name, ranks), str(told.get("desc") or name), ranks)
    return groups


def _identity(name: str, ranks: list[int]) -> str:
    """The name with its members; of many, the first, the last and a checksum of all.

    >>> _identity("3", [0, 1]), _identity("dp", [])
    ('3[0,1]', 'dp')
    """
    text = ",".join(map(str, ranks))
    if len(ranks) > _RANKS_SHOWN:
        text = f"{ranks[0]}..{ranks[-1]} {zlib.crc32(text.encode()):08x}"
    return f"{name}[{text}]" if ranks else name


def calls_of(entries: list[Any], groups: dict[str, Group]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of ``CALL`` with ``finished``, and of ``stacks``. What is no call, or is there twice, is left out."""
    rows, stacks = [], _Stacks()
    for position, entry in enumerate(entries):
        row = _call(entry, position, groups) if isinstance(entry, dict) else None
        if row is not None:
            rows.append(row | {"stack": stacks.number(entry.get("frames"))})
    frame = pl.DataFrame(rows, schema=CALL | {"finished": pl.Boolean}, strict=False)
    return frame.unique("slice", keep="first", maintain_order=True), stacks.frame()


def _call(entry: dict[str, Any], position: int, groups: dict[str, Group]) -> dict[str, Any] | None:
    name, created = entry.get("profiling_name"), entry.get("time_created_ns")
    if not isinstance(name, str) or not isinstance(created, int) or not 0 < created < _LATEST_NS:
        return None
    group = _group(entry.get("process_group"), groups)
    between_two = bool(entry.get("is_p2p"))
    ends = _ENDS.search(name)
    peer = int(ends[2]) if ends else None
    if peer is not None and group.ranks and peer < len(group.ranks):
        peer = group.ranks[peer]
    length = entry.get("duration_ms")
    kind = collective_kind(name.split(" ")[0])
    which = "output" if kind == "all_gather" else "input"
    return {
        "slice": entry.get("record_id") if isinstance(entry.get("record_id"), int) else position,
        "group": group.id,
        "seq": entry.get("p2p_seq_id" if between_two else "collective_seq_id"),
        "kind": kind,
        "name": name,
        "start_ns": created,
        "end_ns": created + (round(length * 1e6) if isinstance(length, (int, float)) and 0 <= length < 1e12 else 0),
        "bytes": _bytes(entry.get(f"{which}_sizes"), entry.get(f"{which}_dtypes")),
        "dtype": next(iter(entry.get(f"{which}_dtypes") or []), None),
        "peer": peer,
        "json": json.dumps({key: entry[key] for key in _DETAILS if entry.get(key) is not None}),
        "finished": entry.get("state") == "completed" or bool(entry.get("retired")),
    }


def _group(stated: Any, groups: dict[str, Group]) -> Group:
    name = str(stated[0]) if isinstance(stated, (list, tuple)) and stated else str(stated or "")
    known = groups.get(name)
    if known is None and len(groups) == 1:
        (known,) = groups.values()  # gloo leaves the name out of the configuration
    return known or Group(name, name, [])


def _bytes(sizes: Any, kinds: Any) -> int | None:
    """Elements times the bytes of one; None where a type is not known."""
    widths = communication_facts().dtype_bytes
    total = 0
    for shape, kind in zip(sizes or (), kinds or (), strict=False):
        if kind not in widths or not isinstance(shape, (list, tuple)):
            return None
        count = widths[kind]
        for length in shape:
            count *= int(length)
        total += count
    return total if sizes else None


class _Stacks:
    """Call stacks, each once, outermost first."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, frames: Any) -> int | None:
        if not isinstance(frames, list) or not all(isinstance(frame, dict) for frame in frames) or not frames:
            return None
        lines = [f"{frame.get('filename')}({frame.get('line')}): {frame.get('name')}" for frame in reversed(frames)]
        return self._numbers.setdefault("\n".join(lines), len(self._numbers))

    def frame(self) -> pl.DataFrame:
        texts = list(self._numbers)
        return pl.DataFrame(
            {"stack": range(len(texts)), "frames": texts}, schema={"stack": pl.UInt32, "frames": pl.String}
        )
