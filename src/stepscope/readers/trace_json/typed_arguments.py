"""Arguments of events as columns, by structures that say which of them to take and what they are.

A scan knows the arguments by name. Without one they are decoded a batch at a time with the structure, which costs a
fraction of building dictionaries. Where an argument has an unexpected type, that batch is decoded again without types.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import astuple

from stepscope.arrays import NULL, Int64s
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_batches import pick
from stepscope.readers.trace_json.event_columns import Batch, arguments, integers
from stepscope.readers.trace_json.trace_event import FAULTS
from stepscope.typed import decoder_of

if TYPE_CHECKING:
    from stepscope.readers.trace_json.event_scanner import Scan

Column = npt.NDArray[Any]

#: What an argument is that an event does not have, where its text is asked for.
NO_TEXT: Final = msgspec.Raw()


def typed_columns(
    structure: type[msgspec.Struct], batch: Batch, chosen: Int64s, texts: Mapping[str, Codes]
) -> dict[str, Column]:
    """The fields of the structure for the chosen events of a batch: integers with NULL, strings and raw texts as codes
    of ``texts`` with -1. Fields that none of them has are left out.
    """
    chosen_indices = batch.indices[chosen].tobytes()
    columns = _scanned(structure, batch.scan, chosen_indices, texts) if batch.scan is not None else None
    return _decoded(structure, pick(batch.arguments, chosen), texts) if columns is None else columns


def _scanned(
    structure: type[msgspec.Struct], scan: Scan, chosen_indices: bytes, texts: Mapping[str, Codes]
) -> dict[str, Column] | None:
    """None if the scan met an unexpected type."""
    columns: dict[str, Column] = {}
    for name, key, kind in _fields(structure):
        values: bytearray | None
        if kind is int:
            values, absent = scan.integers(chosen_indices, key), NULL
        elif kind is msgspec.Raw:
            values, absent = scan.texts(chosen_indices, key, texts[name], False), -1
        else:
            try:
                values, absent = scan.texts(chosen_indices, key, _Unquoted(texts[name]), True), -1
            except FAULTS:
                return None
        if values is None:
            return None
        column = np.frombuffer(values, np.int64)
        if (column != absent).any():
            columns[name] = column
    return columns


class _Unquoted(dict[bytes, int]):
    """Codes of strings by their text in JSON."""

    def __init__(self, codes: Codes) -> None:
        super().__init__()
        self._codes = codes

    def __missing__(self, raw: bytes) -> int:
        self[raw] = code = self._codes[msgspec.json.decode(raw)]
        return code


def _decoded(structure: type[msgspec.Struct], raws: Sequence[bytes], texts: Mapping[str, Codes]) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    values_of_fields = zip(*map(astuple, _objects(structure, raws)), strict=True)
    for (name, _, kind), absent, values in zip(
        _fields(structure), structure.__struct_defaults__, values_of_fields, strict=True
    ):
        if values.count(absent) == len(values):
            continue
        if kind is int:
            columns[name] = integers(values)
        else:
            columns[name] = _coded(texts[name], tuple(map(bytes, values)) if kind is msgspec.Raw else values)
    return columns


def _objects(structure: type[msgspec.Struct], raws: Sequence[bytes]) -> list[Any]:
    try:
        objects: list[Any] = _decoder(structure).decode(b"[" + b",".join(raws) + b"]")
        return objects
    except FAULTS:
        return [_without_types(structure, arguments(raw)) for raw in raws]


def _without_types(structure: type[msgspec.Struct], untyped: dict[str, Any]) -> Any:
    fields: dict[str, Any] = {}
    for name, key, kind in _fields(structure):
        value = untyped.get(key.decode())
        if value is not None:
            fields[name] = value if kind is int else _raw(value) if kind is msgspec.Raw else str(value)
    return structure(**fields)


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _coded(codes: Codes, keys: Sequence[Any]) -> npt.NDArray[np.int32]:
    """Codes of texts; -1 for None and for what is empty."""
    given = np.fromiter(map(bool, keys), np.bool_, len(keys))
    if given.all():
        return np.fromiter(map(codes.__getitem__, keys), np.int32, len(keys))
    result = np.full(len(keys), -1, np.int32)
    result[given] = np.fromiter(
        map(codes.__getitem__, itertools.compress(keys, given.tolist())), np.int32, int(given.sum())
    )
    return result


@cache
def _fields(structure: type[msgspec.Struct]) -> list[tuple[str, bytes, Any]]:
    """Name, key in the text and type of each field."""
    return [(each.name, each.encode_name.encode(), each.type) for each in msgspec.structs.fields(structure)]


@cache
def _decoder(structure: type[msgspec.Struct]) -> Any:
    return decoder_of(list[structure])  # type: ignore[valid-type]
