"""How evenly a mixture-of-experts model chose its experts, from dumps of the counts (``readers/expert_load``)."""

from __future__ import annotations

from typing import Final

import msgspec
import polars as pl

from stepscope.analysis.foundation.units import Count, Identifier, Ratio
from stepscope.store.run_store import RunStore

_TOKENS: Final = r"^(prefill|decode) tokens$"
_EXPERT: Final = r"^expert (\d+)$"


class ExpertLoad(msgspec.Struct, frozen=True):
    """The experts of one layer on one rank in one phase; ``imbalance`` is the busiest over the mean, 1 where alike."""

    rank: Identifier
    phase: str
    layer: Identifier
    experts: Count
    tokens: Count
    busiest_expert: Identifier
    busiest_tokens: Count
    imbalance: Ratio | None


def expert_loads(store: RunStore, ranks: list[int] | None = None) -> list[ExpertLoad]:
    """All layers, by rank, phase and layer; none where no counts were recorded."""
    cells = (
        store.scan("reported", ranks)
        .with_columns(pl.col("metric", "key").cast(pl.String))
        .select(
            "rank",
            pl.col("metric").str.extract(_TOKENS, 1).alias("phase"),
            pl.col("step").alias("layer"),
            pl.col("key").str.extract(_EXPERT, 1).cast(pl.Int64).alias("expert"),
            pl.col("value").cast(pl.Int64).alias("tokens"),
        )
        .filter(pl.col("phase").is_not_null() & pl.col("expert").is_not_null())
        .collect()
    )
    layers = cells.sort("rank", "phase", "layer", "expert").group_by("rank", "phase", "layer", maintain_order=True)
    rows = layers.agg(
        experts=pl.len(),
        total=pl.col("tokens").sum(),
        busiest=pl.col("expert").get(pl.col("tokens").arg_max()),
        most=pl.col("tokens").max(),
    )
    return [
        ExpertLoad(rank, phase, layer, experts, total, busiest, most, most * experts / total if total else None)
        for rank, phase, layer, experts, total, busiest, most in rows.iter_rows()
    ]
