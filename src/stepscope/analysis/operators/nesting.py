"""Which slice lies in which, as arrays over all slices of a rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.arrays import Bools, Int64s
from stepscope.store.run_store import RunStore

NOWHERE: Final = -1
# Slices are numbered as events in their file, so numbers are nearly dense; a table by number is then the fastest.
_DENSE: Final = 8
_SMALL: Final = 1 << 20
_ROUNDS: Final = 32  # 2³² levels


@dataclass(frozen=True)
class Nesting:
    """Slices have positions 0 … n−1; arrays by position have one entry more, at the end, for NOWHERE."""

    ids: Int64s  # the slice at each position, sorted; empty where the position is the slice's number
    parent: Int64s
    kind: pl.Series
    present: Int64s  # positions that hold a slice, in the order of ``kind``

    @property
    def size(self) -> int:
        return len(self.parent) - 1

    def positions(self, slices: Int64s) -> Int64s:
        """The positions of slices; NOWHERE for those that the rank does not have."""
        slices = slices.astype(np.int64)
        if not len(self.ids):
            return np.where((slices >= 0) & (slices < self.size), slices, NOWHERE)
        position = np.minimum(np.searchsorted(self.ids, slices), len(self.ids) - 1)
        return np.where(self.ids[position] == slices, position, NOWHERE)

    def mask(self, *kinds: str) -> Bools:
        """Which positions hold slices of these kinds."""
        mask = np.zeros(self.size + 1, bool)
        mask[self.present] = self.kind.is_in(list(kinds)).to_numpy()
        return mask

    def nearest(self, wanted: Bools) -> Int64s:
        """By position: the innermost wanted slice around it (never itself), or NOWHERE.

        Each round doubles how far an unwanted slice looks up, so that deep stacks take few rounds.
        """
        nearest = self.parent.copy()
        climbing = np.flatnonzero((nearest != NOWHERE) & ~wanted[nearest])
        for _ in range(_ROUNDS):
            if not len(climbing):
                break
            higher = nearest[nearest[climbing]]
            nearest[climbing] = higher
            climbing = climbing[(higher != NOWHERE) & ~wanted[higher]]
        return nearest


def nesting_of(store: RunStore, rank: int) -> Nesting:
    """How the slices of a rank nest."""
    rows = slices_of(store, rank).select("slice", "parent", "kind").collect()
    slices = rows["slice"].cast(pl.Int64).to_numpy()
    parents = rows["parent"].cast(pl.Int64).fill_null(NOWHERE).to_numpy()
    top = int(slices.max()) + 1 if len(slices) else 0
    dense = top <= _DENSE * len(slices) + _SMALL
    ids = np.empty(0, np.int64) if dense else np.sort(slices)
    size = top if dense else len(slices)
    nesting = Nesting(ids, np.full(size + 1, NOWHERE), rows["kind"], slices if dense else np.searchsorted(ids, slices))
    nesting.parent[nesting.present] = nesting.positions(parents)
    return nesting
