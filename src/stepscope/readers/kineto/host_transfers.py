"""Peers of sends and receives on the host: gloo's annotations name none, the operators that they begin in do."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import Int64s
from stepscope.readers.kineto.identity import integer
from stepscope.readers.slices.slice_table import SliceTable

#: Where the peer stands among the arguments of c10d::send and c10d::recv_.
_PEER_ARGUMENT: Final = 2


def peers_of_host_transfers(
    slices: SliceTable, calls: Int64s, operators: dict[int, dict[str, Any]], groups: pl.DataFrame
) -> dict[int, int]:
    """Rank of the peer by position in ``calls``, which are positions of slices; ``operators`` by slice id.

    An annotation begins in its operator and may end after it. A peer is given by its place in its group, which the
    operator does not name: it is known where the job has one group only.
    """
    if not operators or groups.height != 1:
        return {}
    members: list[int] = groups["ranks"].to_list()[0] or []
    known = np.flatnonzero(np.isin(slices.id, np.array(list(operators))))
    peers: dict[int, int] = {}
    for track in np.unique(slices.track[known]).tolist():
        own = known[slices.track[known] == track]
        own = own[np.argsort(slices.start[own], kind="stable")]
        of_track = np.flatnonzero(slices.track[calls] == track)
        before = np.searchsorted(slices.start[own], slices.start[calls[of_track]], side="right") - 1
        for call, place in zip(of_track.tolist(), before.tolist(), strict=True):
            if place < 0 or slices.end[own[place]] < slices.start[calls[call]]:
                continue
            peer = _member(operators[int(slices.id[own[place]])], members)
            if peer is not None:
                peers[call] = peer
    return peers


def _member(arguments: dict[str, Any], members: list[int]) -> int | None:
    inputs = arguments.get("Concrete Inputs")
    if not isinstance(inputs, list) or len(inputs) <= _PEER_ARGUMENT:
        return None
    place = integer(inputs[_PEER_ARGUMENT])
    return members[place] if place is not None and 0 <= place < len(members) else None
