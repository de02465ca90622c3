"""Attention that is computed piece by piece: scores are written, scaled, masked, normalised and read again."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.facts.compute_roles import compute_roles_facts

_PRODUCT: Final = pl.col("category").cast(pl.String) == "matmul"
_SOFTMAX: Final = pl.col("category").cast(pl.String) == "softmax"


def with_attention(rows: pl.DataFrame) -> pl.DataFrame:
    """Kernels with ``in_attention``: between two batched products of a stream, together with a softmax.

    That is what a fused kernel would not do: it never writes the scores. The products would stay.
    """
    words = pl.concat_str(pl.col("operator", "type", "name").cast(pl.String).fill_null(""), separator=" ")
    batched = _PRODUCT & words.str.contains(compute_roles_facts().roles.batched_product)
    stretch = ("track", "step", "stretch")
    # A stretch is a product and all that follows it up to the next one.
    rows = rows.sort("track", "start_ns").with_columns(
        stretch=_PRODUCT.cum_sum().over("track", "step"), product=_PRODUCT, batched=batched
    )
    next_batched = pl.col("batched").shift(-1).over("track", "step")
    between = (
        rows.group_by(stretch, maintain_order=True)
        .agg(batched=pl.col("batched").first(), softmax=_SOFTMAX.any())
        .with_columns(in_attention=pl.col("batched") & pl.col("softmax") & next_batched.fill_null(value=False))
    )
    rows = rows.join(between.select(*stretch, "in_attention"), on=stretch, how="left", maintain_order="left")
    return rows.with_columns(pl.col("in_attention") & ~pl.col("product")).drop("stretch", "product", "batched")
