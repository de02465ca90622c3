"""How numbers and lists are formatted in the documented files."""

from __future__ import annotations

import polars as pl

MISSING = "N/A"


def micro(nanoseconds: pl.Expr) -> pl.Expr:
    """Microseconds with three decimals, exact; never through a float.

    >>> pl.select(micro(pl.lit(1736408883700059821))).item()
    '1736408883700059.821'
    """
    whole, rest = nanoseconds // 1000, nanoseconds % 1000
    return pl.concat_str(whole.cast(pl.String), pl.lit("."), rest.cast(pl.String).str.zfill(3))


def text(column: str) -> pl.Expr:
    """A text column, with the documented word where it is empty."""
    return pl.col(column).cast(pl.String).fill_null(MISSING)


def shapes(column: str) -> pl.Expr:
    """Shapes as the documents have them, quotation marks included.

    >>> pl.DataFrame({"x": ["[[64, 512], [], [10]]", "[[8], NoShape]", None]}).select(shapes("x")).to_series().to_list()
    ['"64,512;;10"', '"8;"', 'N/A']
    """
    without_spaces = pl.col(column).cast(pl.String).str.replace_all(r"\s", "").str.replace_all("NoShape", "[]")
    inner = without_spaces.str.replace(r"^\[(.*)\]$", "$1")
    plain = inner.str.replace_all("],[", ";", literal=True).str.replace_all(r"[\[\]]", "")
    return pl.concat_str(pl.lit('"'), plain, pl.lit('"')).fill_null(MISSING)


def types(column: str) -> pl.Expr:
    """Data types, separated by semicolons.

    >>> pl.DataFrame({"x": ['["float", "long int"]']}).select(types("x")).to_series().to_list()
    ['float;long int']
    """
    inner = pl.col(column).cast(pl.String).str.replace(r"^\[(.*)\]$", "$1")
    return inner.str.replace_all(r'"\s*,\s*"', ";").str.replace_all('"', "", literal=True).fill_null(MISSING)
