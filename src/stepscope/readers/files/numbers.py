"""Numbers out of cells and JSON values; times and sizes exactly, from their decimal digits.

MindSpore writes times in five units (10 ns counts, ns, us, ms, s); all are powers of ten of a nanosecond, so moving
the decimal point is all there is to do. Digits below the nanosecond are rounded to the nearest, ties to even.
"""

from __future__ import annotations

import decimal
import math
from typing import Any, Final

import polars as pl

from stepscope.readers.files.exact_time import LARGEST_NS

#: Powers of ten from each unit to nanoseconds.
NS: Final = 0
COUNTS: Final = 1  # Ascend's system counter ticks every 10 ns
US: Final = 3
MS: Final = 6

_EXACT: Final = decimal.Context(prec=80, rounding=decimal.ROUND_HALF_EVEN, Emax=400, Emin=-400)


def number(value: Any) -> float | None:
    """A finite number, from a number or its text.

    >>> number("0.5"), number(" 3"), number("nan"), number(True), number(None)
    (0.5, 3.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str, decimal.Decimal)):
        return None
    try:
        parsed = float(value)
    except (ValueError, OverflowError):
        return None
    return parsed if math.isfinite(parsed) else None


def integer(value: Any, limit: int = 1 << 31) -> int | None:
    """A whole number whose size stays below ``limit``, from a number or its text.

    >>> integer("-1"), integer(2.0), integer("2.5"), integer(1 << 40), integer([])
    (-1, 2, None, None, None)
    """
    parsed = scaled(value, 0, limit, whole=True)
    return parsed if parsed is not None and abs(parsed) < limit else None


def scaled(value: Any, digits: int, limit: int = LARGEST_NS, whole: bool = False) -> int | None:
    """``value`` times ten to the power of ``digits``, rounded to an integer; None if it is no number, or too large.

    >>> scaled("154907895.95956", MS), scaled(decimal.Decimal("6e-05"), MS), scaled("N/A", MS)
    (154907895959560, 60, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str, decimal.Decimal)):
        return None
    try:
        moved = _EXACT.scaleb(_EXACT.create_decimal(value.strip() if isinstance(value, str) else value), digits)
        if not moved.is_finite() or abs(moved) > limit:
            return None
        result = _EXACT.to_integral_value(moved)
    except (ArithmeticError, ValueError):
        return None
    return None if whole and result != moved else int(result)


def scaled_column(texts: pl.Series, digits: int) -> pl.Series:
    """:func:`scaled` of a whole column of texts at once; null where there is no number.

    >>> scaled_column(pl.Series(["1.5", "0.0031000000000000003", "x", None]), MS).to_list()
    [1500000, 3100, None, None]
    """
    plain = texts.cast(pl.String).str.strip_chars()
    # A decimal column of so many places holds the wanted integer as its unscaled value; its cast rounds ties to even.
    exact = plain.cast(pl.Decimal(38, digits), strict=False).to_physical()
    result = exact.cast(pl.Int64, strict=False)
    result = result.set((result.abs() > LARGEST_NS).fill_null(False), None)
    odd = (exact.is_null() & plain.is_not_null() & (plain != "")).arg_true()
    if len(odd):  # more digits than such a column holds, or no number at all
        result = result.scatter(odd, pl.Series([scaled(text, digits) for text in plain.gather(odd)], dtype=pl.Int64))
    return result.alias(texts.name)
