"""The arguments of Kineto events that become columns; the rest stays in ``details``.

Arguments are decoded a batch at a time with one typed structure per kind of event, which costs a fraction of
building dictionaries. Where an argument has an unexpected type, that batch is decoded again without types.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import astuple

from stepscope.readers.codes import Codes
from stepscope.readers.event_columns import NULL, Batch, EventColumns, arguments, integers
from stepscope.readers.kineto.categories import kind_of_category

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

_ABSENT: Final = msgspec.Raw()


class _Any(msgspec.Struct, gc=False):
    external: int = msgspec.field(name="External id", default=NULL)
    old_external: int = msgspec.field(name="external id", default=NULL)  # as older writers spell it


class _Operator(_Any, gc=False):
    input_shapes: msgspec.Raw = msgspec.field(name="Input Dims", default=_ABSENT)
    dtypes: msgspec.Raw = msgspec.field(name="Input type", default=_ABSENT)
    stack: msgspec.Raw = msgspec.field(name="Call stack", default=_ABSENT)
    module: msgspec.Raw = msgspec.field(name="Module Hierarchy", default=_ABSENT)


class _Runtime(_Any, gc=False):
    correlation: int = NULL


class _Device(_Any, gc=False):
    correlation: int = NULL
    stream: int = NULL
    bytes: int = NULL
    collective: msgspec.Raw = msgspec.field(name="Collective name", default=_ABSENT)


_STRUCTURES: Final[dict[str, type[msgspec.Struct]]] = {
    "operator": _Operator,
    "annotation": _Operator,
    "runtime": _Runtime,
    "kernel": _Device,
    "collective": _Device,
    "copy": _Device,
    "sync": _Device,
    "mark": _Device,
}
_INTEGERS: Final = ("external", "correlation", "stream", "bytes")
_TEXTS: Final = ("input_shapes", "dtypes", "stack", "module")
_COLLECTIVE_OPERATOR: Final = "record_param_comms"
_OLD_SPELLING: Final = {"External id": "external id", "Call stack": "call stack"}


class ArgumentColumns:
    """Per complete event, in the order of the batches."""

    def __init__(self) -> None:
        self.texts = {name: Codes() for name in _TEXTS}
        self.collectives: dict[int, dict[str, Any]] = {}  # arguments of communication calls, by event index
        self._parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in (*_INTEGERS, *_TEXTS)}

    def add(self, batch: Batch, columns: EventColumns) -> None:
        """Take the arguments of a batch of complete events in."""
        count = len(batch)
        found: dict[str, npt.NDArray[Any]] = {name: np.full(count, NULL, np.int64) for name in _INTEGERS}
        found |= {name: np.full(count, -1, np.int32) for name in _TEXTS}
        if count:
            structures = [
                _STRUCTURES.get(kind_of_category(text) or "annotation") for text in columns.categories.texts()
            ]
            having = batch.argument_lengths > 0
            for structure in dict.fromkeys(_STRUCTURES.values()):
                wanted = np.array([candidate is structure for candidate in structures])[batch.category] & having
                if wanted.any():
                    self._fill(
                        structure,
                        batch,
                        list(itertools.compress(batch.arguments, wanted.tolist())),
                        np.flatnonzero(wanted),
                        found,
                    )
            if _COLLECTIVE_OPERATOR in columns.names:
                for place in np.flatnonzero(batch.name == columns.names[_COLLECTIVE_OPERATOR]).tolist():
                    self.collectives[int(batch.index[place])] = arguments(batch.arguments[place])
        for name, values in found.items():
            self._parts[name].append(values)

    def take(self, count: int) -> dict[str, npt.NDArray[Any]]:
        """All columns, lengthened to ``count`` for slices that are no complete events."""
        taken = {}
        for name in list(self._parts):
            parts = self._parts.pop(name)
            if name in _TEXTS and not self.texts[name]:
                taken[name] = np.broadcast_to(np.int32(-1), count)  # what no event has needs no memory
                continue
            missing = count - sum(map(len, parts))
            kind, absent = (np.int64, NULL) if name in _INTEGERS else (np.int32, -1)
            taken[name] = np.concatenate([*parts, np.full(missing, absent, kind)])
        return taken

    def _fill(
        self,
        structure: type[msgspec.Struct],
        batch: Batch,
        raws: list[bytes],
        places: Int64s,
        columns: dict[str, Any],
    ) -> None:
        decoded = zip(*map(astuple, _decode(structure, raws)), strict=True)
        for field, absent, values in zip(
            structure.__struct_fields__, structure.__struct_defaults__, decoded, strict=True
        ):
            if values.count(absent) == len(values):
                continue
            if field == "old_external":
                old = integers(values)
                columns["external"][places] = np.where(old == NULL, columns["external"][places], old)
            elif field in _INTEGERS:
                columns[field][places] = integers(values)
            elif field in _TEXTS:
                columns[field][places] = _codes(self.texts[field], values)
            else:
                for place in np.flatnonzero(np.fromiter(map(len, values), np.int64, len(values))).tolist():
                    self.collectives[int(batch.index[places[place]])] = arguments(raws[place])


def _decode(structure: type[msgspec.Struct], raws: list[bytes]) -> list[Any]:
    try:
        found: list[Any] = _decoder(structure).decode(b"[" + b",".join(raws) + b"]")
        return found
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [_without_types(structure, arguments(raw)) for raw in raws]


_DECODERS: Final[dict[type[msgspec.Struct], Any]] = {}


def _decoder(structure: type[msgspec.Struct]) -> Any:
    if structure not in _DECODERS:
        _DECODERS[structure] = msgspec.json.Decoder(list[structure])  # type: ignore[valid-type]
    return _DECODERS[structure]


def _without_types(structure: type[msgspec.Struct], found: dict[str, Any]) -> Any:
    fields: dict[str, Any] = {}
    for information in msgspec.structs.fields(structure):
        key = information.encode_name
        value = found.get(key, found.get(_OLD_SPELLING.get(key, key)))
        if value is None:
            continue
        fields[information.name] = value if information.type is int else msgspec.Raw(msgspec.json.encode(value))
    return structure(**fields)


def _codes(texts: Codes, raws: Sequence[msgspec.Raw]) -> Int32s:
    if not raws.count(_ABSENT):
        return np.fromiter(map(texts.__getitem__, map(bytes, raws)), np.int32, len(raws))
    codes = np.full(len(raws), -1, np.int32)
    present = np.fromiter(map(len, raws), np.int64, len(raws)) > 0
    if present.any():
        values = map(bytes, itertools.compress(raws, present.tolist()))
        codes[present] = np.fromiter(map(texts.__getitem__, values), np.int32, int(present.sum()))
    return codes
