"""Which operator on the host owns what runs on the device, and how much of that each operator owns with its callees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.foundation.rank_tables import links_of
from stepscope.analysis.operators.nesting import NOWHERE, Nesting, nesting_of
from stepscope.arrays import Bools, Int64s
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class Ownership:
    """Arrays by position, see Nesting."""

    nesting: Nesting
    is_operator: Bools
    above: Int64s  # the operator around each slice
    owner: Int64s  # the operator that launched each device slice
    forward: Int64s  # the forward operator of each backward operator

    def owned(self, positions: Int64s, amount: Int64s) -> tuple[Int64s, Int64s]:
        """Sums of ``amount`` of device slices: by their owner itself, and by every operator around the owner too."""
        own = np.zeros(self.nesting.size + 1, np.int64)
        owner = self.owner[positions]
        known = owner != NOWHERE
        np.add.at(own, owner[known], amount[known])
        total = own.copy()
        operator = np.flatnonzero(own)
        value = own[operator]
        while len(operator):
            operator = self.above[operator]
            inside = operator != NOWHERE
            operator, value = operator[inside], value[inside]
            np.add.at(total, operator, value)
        return own, total

    def self_time(self, positions: Int64s, duration: Int64s) -> Int64s:
        """Durations of operators, less those of the operators directly in them."""
        inside = np.zeros(self.nesting.size + 1, np.int64)
        above = self.above[positions]
        known = above != NOWHERE
        np.add.at(inside, above[known], duration[known])
        return np.asarray(np.maximum(duration - inside[positions], 0), np.int64)

    def forward_of(self, operators: Int64s) -> Int64s:
        """The forward operator behind each operator that runs in a backward pass, or NOWHERE."""
        operator = operators.copy()
        while (climbing := (operator != NOWHERE) & (self.forward[operator] == NOWHERE)).any():
            operator = np.where(climbing, self.above[operator], operator)
        return self.forward[operator]


def ownership_of(store: RunStore, rank: int) -> Ownership:
    """Owners in a rank, from links and from how slices nest."""
    nesting = nesting_of(store, rank)
    is_operator = nesting.mask("operator")
    above = nesting.nearest(is_operator)
    links = links_of(store, rank)

    def ends(kind: str) -> tuple[Int64s, Int64s]:
        chosen = links.filter(pl.col("kind") == kind)
        begin, end = (nesting.positions(chosen[name].to_numpy()) for name in ("from_slice", "to_slice"))
        known = (begin != NOWHERE) & (end != NOWHERE)
        return begin[known], end[known]

    owner = np.full(nesting.size + 1, NOWHERE)
    call, task = ends("launch")
    owner[task] = np.where(is_operator[call], call, above[call])
    operator, task = ends("operator_launch")
    owner[task] = np.where(is_operator[operator], operator, above[operator])
    forward = np.full(nesting.size + 1, NOWHERE)
    before, after = ends("forward_backward")
    forward[after] = before
    return Ownership(nesting, is_operator, above, owner, forward)
