"""``communication_group.json``: which ranks call each other, and what the job calls the group."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import polars as pl

from stepscope.deliver.capture_directory.communication_calls import CommunicationCall
from stepscope.layout.names import group_hash
from stepscope.store.run_store import RunStore


class ClusterGroups:
    """``members`` (those of which there are files) by class of calls (collective, p2p) and the hash of the group."""

    def __init__(self, store: RunStore) -> None:
        columns = ["group", "name", "ranks"]
        rows = store.scan("groups").select(pl.col("group").cast(pl.String), *columns[1:]).collect()
        self._stated = {group_hash(group): (group, name, ranks) for group, name, ranks in rows.iter_rows() if group}
        self._callers: dict[tuple[str, str], set[int]] = defaultdict(set)

    def add(self, rank: int, calls: list[CommunicationCall]) -> None:
        """Add the groups that a rank communicates in."""
        for call in calls:
            self._callers[call.kind, call.group].add(rank)

    def ranks_of(self, group: str) -> list[int] | None:
        """All members of a group in its order, where they are stated."""
        ranks: list[int] | None = self._stated.get(group, (None, None, None))[2]
        return ranks

    @property
    def members(self) -> dict[tuple[str, str], tuple[int, ...]]:
        return {key: tuple(sorted(callers)) for key, callers in sorted(self._callers.items())}

    def document(self) -> dict[str, Any]:
        """The file's content."""
        of_class: dict[str, list[list[int]]] = {"collective": [], "p2p": []}
        rows = []
        for (kind, group), callers in self.members.items():
            of_class[kind].append(list(callers))
            identity, name, stated = self._stated.get(group, ("", "", None))
            rows.append(
                {
                    "type": kind,
                    "rank_set": sorted(stated or callers),
                    "group_name": group,
                    "group_id": "" if identity == group else identity,
                    "pg_name": name or "",
                }
            )
        return {**of_class, "comm_group_parallel_info": rows}
