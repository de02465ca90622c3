"""Times in microseconds, which is the unit of the times in answers, without the digits that floats add to them."""

from __future__ import annotations

import polars as pl


def in_microseconds(nanoseconds: pl.Expr) -> pl.Expr:
    """The same times in microseconds. Polars multiplies by a thousandth instead of dividing: 53.346000000000004.

    >>> pl.DataFrame({"total_ns": [53346, 435650]}).select(in_microseconds(pl.col("total_ns")))["total_ns"].to_list()
    [53.346, 435.65]
    """
    return to_picoseconds(nanoseconds / 1000)


def to_picoseconds(microseconds: pl.Expr) -> pl.Expr:
    """Rounded to what is finer than any clock, and coarser than the error of a float.

    >>> pl.DataFrame({"idle_us": [384.957, 382.141, 407.678]}).select(to_picoseconds(pl.col("idle_us").mean())).item()
    391.592
    """
    return microseconds.round(6)
