"""Communication calls of a rank as the documented files tell them: named, grouped by step, with what they moved."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import polars as pl

from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.layout.names import group_hash

_POINT_TO_POINT: Final = {"send", "receive", "send_receive"}
#: Words of the documents for kinds that do not just drop their underscore.
_OPERATIONS: Final = {"send_receive": "batchsendrecv"}
_NAMED: Final = re.compile(r"hcom_([A-Za-z]+)")
Rank = TypeVar("Rank", int, int | None)
#: A rank's copy within its own device.
LOCAL: Final = "LOCAL"


@dataclass(frozen=True)
class Transfer:
    """What went over one link; both ends count within the group. Without a target the link is not known."""

    transport: str
    source: int
    target: int | None
    bytes: int
    time_ns: int
    packets: int


@dataclass(frozen=True)
class CommunicationCall:
    """One call. The documents list it by ``step`` and ``kind``; ``group`` is the group's hash."""

    slice: int
    step: str
    kind: str
    operation: str
    name: str
    group: str
    start_ns: int
    elapse_ns: int
    transit_ns: int
    wait_ns: int
    sync_ns: int
    transfers: list[Transfer] = field(default_factory=list)
    is_hccl: bool = False  # recorded under this name

    @property
    def type(self) -> str:
        """The name without group and number, as the documents give the type of a call."""
        return self.name.partition("__")[0] + "_"


def communication_calls(data: RankData) -> list[CommunicationCall]:
    """All calls in order of time. Where no part of a call was recorded, all its time counts as transit."""
    rows = data.scan("collectives").sort("start_ns").collect()
    members = _members(data)
    of_any_group = _members_of_any(data, members)
    moved = _recorded_transfers(data, members)
    numbers: dict[tuple[str, str], int] = defaultdict(int)
    calls = []
    for row in rows.iter_rows(named=True):
        group = str(row["group"] or "default")
        elapse = row["end_ns"] - row["start_ns"]
        known = row["transit_ns"] is not None or row["wait_ns"] is not None
        name = _name(row, group_hash(group), numbers)
        kind = str(row["kind"] or "")
        recorded = moved.get((row["step"], group, str(row["name"]).partition("@")[0]))
        calls.append(
            CommunicationCall(
                row["slice"],
                "step" if row["step"] is None else f"step{row['step']}",
                "p2p" if kind in _POINT_TO_POINT else "collective",
                named[1].lower() if (named := _NAMED.match(str(row["name"]))) else _operation(kind),
                name,
                group_hash(group),
                row["start_ns"],
                elapse,
                (row["transit_ns"] or 0) if known else elapse,
                row["wait_ns"] or 0,
                row["sync_ns"] or 0,
                recorded
                if recorded is not None
                else list(_message(data, row, members.get(group, of_any_group), elapse)),
                str(row["name"]).startswith("hcom_"),
            )
        )
    return calls


def _operation(kind: str) -> str:
    return _OPERATIONS.get(kind, kind.replace("_", "") or "invalid")


def _name(row: dict[str, Any], group: str, numbers: dict[tuple[str, str], int]) -> str:
    """The call's name, in the documented form where it is not one: the same on all ranks of the group."""
    name = str(row["name"])
    if name.startswith("hcom_"):
        return name.partition("@")[0]
    first, *words = str(row["kind"] or name).split("_")
    operation = first + "".join(word.capitalize() for word in words)
    number = numbers[group, operation]
    numbers[group, operation] += 1
    return f"hcom_{operation}__{group[-3:]}_{number}_1"


def _recorded_transfers(
    data: RankData, members: dict[str, list[int]]
) -> dict[tuple[int | None, str, str], list[Transfer]]:
    """What an NPU recorded link by link, by step, group and call."""
    rows = data.scan("transfers").filter(pl.col("kind").cast(pl.String).is_in(["payload", "reduce"])).collect()
    transfers: dict[tuple[int | None, str, str], list[Transfer]] = defaultdict(list)
    for row in rows.iter_rows(named=True):
        transport = str(row["transport"] or LOCAL)
        target = data.rank if row["peer"] is None and transport == LOCAL else row["peer"]
        sizes = (row["bytes"] or 0, row["time_ns"] or 0, row["packets"] or 1)
        key = (row["step"], str(row["group"] or "default"), str(row["call"]).partition("@")[0])
        ranks = members.get(key[1])
        transfers[key].append(
            Transfer(transport, _index_in_group(data.rank, ranks), _index_in_group(target, ranks), *sizes)
        )
    return transfers


def _message(data: RankData, row: dict[str, Any], ranks: list[int] | None, elapse: int) -> Iterator[Transfer]:
    """The size of a call as a whole. Its link is known where the group has one other member, or the call names it."""
    if row["bytes"] is None:
        return
    others = [rank for rank in ranks or [] if rank != data.rank]
    peer = row["peer"] if row["peer"] is not None else others[0] if len(others) == 1 else None
    transport = str(row["name"]).partition(":")[0] if ":" in str(row["name"]) else "unknown"
    yield Transfer(transport, _index_in_group(data.rank, ranks), _index_in_group(peer, ranks), row["bytes"], elapse, 1)


def _index_in_group(rank: Rank, ranks: list[int] | None) -> Rank:
    """The index of a rank in its group; the rank itself if the members are unknown."""
    return ranks.index(rank) if ranks and rank in ranks else rank


def _members(data: RankData) -> dict[str, list[int]]:
    rows = data.store.scan("groups").select("group", "ranks").collect()
    return {str(group): list(ranks) for group, ranks in rows.iter_rows() if ranks}


def _members_of_any(data: RankData, members: dict[str, list[int]]) -> list[int] | None:
    """The members of a call that does not name its group: known if all groups of the rank have the same members."""
    own = {tuple(ranks) for ranks in members.values() if data.rank in ranks}
    return list(own.pop()) if len(own) == 1 else None
