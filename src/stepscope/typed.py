"""Values as the types that describe them; from several threads at once."""

from __future__ import annotations

import threading
from typing import Any, Final, TypeVar

import msgspec

Kind = TypeVar("Kind")

_DESCRIBING: Final = threading.Lock()
_DESCRIBED: Final[set[Any]] = set()


def typed(value: Any, kind: type[Kind]) -> Kind:
    """A value of plain types as this type; ``msgspec.ValidationError`` if it does not fit."""
    _describe(kind)
    return msgspec.convert(value, kind)


def decoder_of(kind: type[Kind]) -> msgspec.json.Decoder[Kind]:
    """Reads values of this type from JSON."""
    _describe(kind)
    return msgspec.json.Decoder(kind)


def _describe(kind: type[Any]) -> None:
    # msgspec keeps the description of a type while it still writes it: a second thread that finds it half written
    # ends the process. So descriptions are written by one thread at a time.
    if kind not in _DESCRIBED:
        with _DESCRIBING:
            msgspec.json.Decoder(kind)
            _DESCRIBED.add(kind)
