"""Redacted answers: every text in structures, frames and notes with pseudonyms in it."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import msgspec
import polars as pl

from stepscope.deliver.identities import Pseudonyms

Value = TypeVar("Value")


def redacted_value(names: Pseudonyms, value: Value) -> Value:
    """The same value; numbers stay, and of texts everything that names nobody."""
    changed: Any = _changed(names, value)
    result: Value = changed
    return result


def _changed(names: Pseudonyms, value: Any) -> Any:
    if isinstance(value, str):
        return names.text(value)
    if isinstance(value, dict):
        return {_changed(names, key): _field(names, key, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_changed(names, each) for each in value]
    if isinstance(value, tuple):
        return tuple(_changed(names, each) for each in value)
    if isinstance(value, msgspec.Struct):
        fields = {name: _field(names, name, getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    if isinstance(value, pl.DataFrame):
        return _frame(names, value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        own = {field.name: _changed(names, getattr(value, field.name)) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **own)
    return value


def _field(names: Pseudonyms, name: object, value: Any) -> Any:
    """A host is one whatever it is called; elsewhere a plain word is a word."""
    return names.host(value) if name == "host" and isinstance(value, str) else _changed(names, value)


def _frame(names: Pseudonyms, frame: pl.DataFrame) -> pl.DataFrame:
    """Texts in columns and within nested ones."""
    columns = []
    for column in frame.get_columns():
        if column.dtype == pl.String or isinstance(column.dtype, (pl.Categorical, pl.Enum)):
            texts = column.cast(pl.String)
            known = texts.unique().drop_nulls()
            columns.append(texts.replace(known, [_field(names, column.name, text) for text in known]))
        elif column.dtype.is_nested():
            columns.append(pl.Series(column.name, _changed(names, column.to_list()), column.dtype))
        else:
            columns.append(column)
    return pl.DataFrame(columns)
