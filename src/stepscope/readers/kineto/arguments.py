"""The arguments of Kineto events that become columns; the rest stays in ``details``.

Arguments are decoded a batch at a time with one typed structure per kind of event, which costs a fraction of
building dictionaries. Where an argument has an unexpected type, that batch is decoded again without types.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from stepscope.readers.codes import Codes
from stepscope.readers.event_columns import NULL, Batch, EventColumns, arguments, integers
from stepscope.readers.kineto.categories import kind_of_category

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

_ABSENT: Final = msgspec.Raw()


class _Operator(msgspec.Struct, gc=False):
    external: int = msgspec.field(name="External id", default=NULL)
    input_shapes: msgspec.Raw = msgspec.field(name="Input Dims", default=_ABSENT)
    dtypes: msgspec.Raw = msgspec.field(name="Input type", default=_ABSENT)
    stack: msgspec.Raw = msgspec.field(name="Call stack", default=_ABSENT)
    module: msgspec.Raw = msgspec.field(name="Module Hierarchy", default=_ABSENT)


class _Runtime(msgspec.Struct, gc=False):
    external: int = msgspec.field(name="External id", default=NULL)
    correlation: int = NULL


class _Device(msgspec.Struct, gc=False):
    external: int = msgspec.field(name="External id", default=NULL)
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
        count = len(batch.events)
        found: dict[str, npt.NDArray[Any]] = {name: np.full(count, NULL, np.int64) for name in _INTEGERS}
        found |= {name: np.full(count, -1, np.int32) for name in _TEXTS}
        if count:
            structures = [
                _STRUCTURES.get(kind_of_category(text) or "annotation") for text in columns.categories.texts()
            ]
            having = np.fromiter((bool(event.args) for event in batch.events), np.bool_, count)
            for structure in dict.fromkeys(_STRUCTURES.values()):
                wanted = np.array([candidate is structure for candidate in structures])
                places = np.flatnonzero(wanted[batch.category] & having)
                if len(places):
                    self._fill(structure, batch, places, found)
            if _COLLECTIVE_OPERATOR in columns.names:
                for place in np.flatnonzero(batch.name == columns.names[_COLLECTIVE_OPERATOR]).tolist():
                    self.collectives[int(batch.index[place])] = arguments(batch.events[place].args)
        for name, values in found.items():
            self._parts[name].append(values)

    def take(self, count: int) -> dict[str, npt.NDArray[Any]]:
        """All columns, lengthened to ``count`` for slices that are no complete events."""
        taken = {}
        for name in list(self._parts):
            parts = self._parts.pop(name)
            missing = count - sum(map(len, parts))
            kind, absent = (np.int64, NULL) if name in _INTEGERS else (np.int32, -1)
            taken[name] = np.concatenate([*parts, np.full(missing, absent, kind)])
        return taken

    def _fill(self, structure: type[msgspec.Struct], batch: Batch, places: Int64s, columns: dict[str, Any]) -> None:
        listed = places.tolist()
        found = _decode(structure, [batch.events[place].args for place in listed])
        count = len(found)
        columns["external"][places] = integers((item.external for item in found), count)
        if structure is _Operator:
            for name in _TEXTS:
                columns[name][places] = _codes(self.texts[name], [getattr(item, name) for item in found])
            return
        columns["correlation"][places] = integers((item.correlation for item in found), count)
        if structure is _Device:
            columns["stream"][places] = integers((item.stream for item in found), count)
            columns["bytes"][places] = integers((item.bytes for item in found), count)
            for place, item in zip(listed, found, strict=True):
                if item.collective:
                    self.collectives[int(batch.index[place])] = arguments(batch.events[place].args)


def _decode(structure: type[msgspec.Struct], raws: list[msgspec.Raw]) -> list[Any]:
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


def _codes(texts: Codes, raws: list[msgspec.Raw]) -> Int32s:
    return np.fromiter((texts[bytes(raw)] if raw else -1 for raw in raws), np.int32, len(raws))
