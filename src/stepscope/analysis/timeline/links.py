"""Arrows between slices of a rank, as positions in its columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.analysis.timeline.columns import RankColumns
from stepscope.arrays import NONE, Int64s
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class LinkColumns:
    """Links of which both ends exist."""

    kinds: list[str]
    kind: npt.NDArray[np.uint8]  # index in ``kinds``
    source: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]

    @property
    def bytes(self) -> int:
        return self.kind.nbytes + self.source.nbytes + self.target.nbytes

    def counts(self) -> dict[str, int]:
        """Number of links of each kind."""
        counts = np.bincount(self.kind, minlength=len(self.kinds))
        return {kind: int(count) for kind, count in zip(self.kinds, counts, strict=True) if count}

    def of_kinds(self, wanted: list[str] | None) -> Int64s:
        """Which links are of these kinds; all of them without a wish."""
        if wanted is None:
            return np.arange(len(self.kind), dtype=np.int64)
        codes = [code for code, kind in enumerate(self.kinds) if kind in wanted]
        return np.flatnonzero(np.isin(self.kind, codes))


def link_columns(store: RunStore, columns: RankColumns) -> LinkColumns:
    """Read the links of a rank."""
    links = store.scan("links", [columns.rank]).select("kind", "from_slice", "to_slice").drop_nulls().collect()
    kinds = sorted(links["kind"].cast(pl.String).unique().to_list())
    codes = links["kind"].cast(pl.Enum(kinds)).to_physical().cast(pl.UInt8).to_numpy()
    source = columns.positions(links["from_slice"].to_numpy())
    target = columns.positions(links["to_slice"].to_numpy())
    whole = (source != NONE) & (target != NONE)
    return LinkColumns(
        kinds,
        codes[whole],
        source[whole].astype(np.int32),
        target[whole].astype(np.int32),
    )
