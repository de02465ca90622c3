"""The ``Attr`` column: ``{key:value,key:value}`` in csv files, JSON with text values in databases."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec
import polars as pl

# A value may hold commas and colons; the next key begins with a letter and is followed by a colon.
_NEXT_PAIR: Final = re.compile(r",(?=[A-Za-z_][A-Za-z_ ]*:)")
_QUOTED_PAIR: Final = re.compile(r'"([^"]+)"\s*:\s*"(.*?)"(?=\s*(?:,\s*"|,?\s*\}|$))', re.DOTALL)


def parse(text: str) -> dict[str, str]:
    """Keys and values of one row, as texts.

    >>> parse("{size:10,shape:torch.Size([1,5]),inefficient_type:early_allocation,late_deallocation}")
    {'size': '10', 'shape': 'torch.Size([1,5])', 'inefficient_type': 'early_allocation,late_deallocation'}
    >>> parse('{"size":"10","shape":"[1",}')  # the tool's own JSON is cut at commas
    {'size': '10', 'shape': '[1'}
    """
    inner = text.strip().strip('"').strip() if not text.startswith('{"') else text
    if inner.startswith('{"'):
        try:
            values = msgspec.json.decode(inner)
            return {str(key): str(value) for key, value in values.items()}
        except (msgspec.DecodeError, AttributeError, UnicodeError, RecursionError):
            return dict(_QUOTED_PAIR.findall(inner))
    pairs = _NEXT_PAIR.split(inner.removeprefix("{").removesuffix("}"))
    return {
        key.strip(): value for key, colon, value in (pair.partition(":") for pair in pairs) if colon and key.strip()
    }


def integer(name: str) -> pl.Expr:
    """The number that an attribute has, of a whole column at once; null where there is none."""
    digits = pl.col("attr").str.extract(rf'[{{,"\s]{name}"?\s*:\s*"?(-?\d{{1,19}})')
    return digits.cast(pl.Int64, strict=False).alias(name)


def text(name: str) -> pl.Expr:
    """The text that an attribute has, up to the next key; null where there is none."""
    next_key = r',\s*"?[A-Za-z_][A-Za-z_ ]*"?\s*:'
    value = pl.col("attr").str.extract(rf'[{{,"\s]{name}"?\s*:\s*"?(.*?)"?\s*(?:{next_key}|,?\s*\}}|$)')
    return pl.when(value.str.len_bytes() > 0).then(value).alias(name)


def columns(frame: pl.DataFrame, numbers: Iterable[str], texts: Iterable[str] = ()) -> pl.DataFrame:
    """The frame with a column for each attribute; those that no row has cost nothing."""
    attr = frame["attr"]

    def absent(name: str) -> bool:
        return not attr.str.contains(name, literal=True).any()

    return frame.with_columns(
        *(pl.lit(None, pl.Int64).alias(name) if absent(name) else integer(name) for name in numbers),
        *(pl.lit(None, pl.String).alias(name) if absent(name) else text(name) for name in texts),
    )
