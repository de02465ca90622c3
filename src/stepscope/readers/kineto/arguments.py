"""The arguments of Kineto events that become columns; the rest stays in ``details``."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from stepscope.arrays import NULL, Int64s
from stepscope.readers.kineto.categories import kind_of_category
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import Batch, EventColumns, arguments
from stepscope.readers.trace_json.typed_arguments import NO_TEXT, typed_columns


class _Any(msgspec.Struct, gc=False):
    external: int = msgspec.field(name="External id", default=NULL)
    old_external: int = msgspec.field(name="external id", default=NULL)  # as older writers spell it


class _Operator(_Any, gc=False):
    input_shapes: msgspec.Raw = msgspec.field(name="Input Dims", default=NO_TEXT)
    dtypes: msgspec.Raw = msgspec.field(name="Input type", default=NO_TEXT)
    stack: msgspec.Raw = msgspec.field(name="Call stack", default=NO_TEXT)
    old_stack: msgspec.Raw = msgspec.field(name="call stack", default=NO_TEXT)
    module: msgspec.Raw = msgspec.field(name="Module Hierarchy", default=NO_TEXT)


class _Runtime(_Any, gc=False):
    correlation: int = NULL


class _Device(_Any, gc=False):
    correlation: int = NULL
    stream: int = NULL
    bytes: int = NULL
    collective: msgspec.Raw = msgspec.field(name="Collective name", default=NO_TEXT)


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
_OLD_SPELLING: Final = {"old_external": "external", "old_stack": "stack"}


class ArgumentColumns:
    """Per complete event, in the order of the batches."""

    def __init__(self) -> None:
        self.texts = {name: Codes() for name in _TEXTS}
        self.collectives: dict[int, dict[str, Any]] = {}  # arguments of communication calls, by event index
        self._parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in (*_INTEGERS, *_TEXTS)}

    def add(self, batch: Batch, columns: EventColumns) -> None:
        """Take the arguments of a batch of complete events in."""
        count = len(batch)
        columns_of_batch: dict[str, npt.NDArray[Any]] = {name: np.full(count, NULL, np.int64) for name in _INTEGERS}
        columns_of_batch |= {name: np.full(count, -1, np.int32) for name in _TEXTS}
        if count:
            structures = [
                _STRUCTURES.get(kind_of_category(text) or "annotation") for text in columns.categories.texts()
            ]
            having = batch.argument_lengths > 0
            for structure in dict.fromkeys(_STRUCTURES.values()):
                wanted = np.array([candidate is structure for candidate in structures])[batch.category] & having
                if wanted.any():
                    self._fill(structure, batch, np.flatnonzero(wanted), columns_of_batch)
            if _COLLECTIVE_OPERATOR in columns.names:
                for row in np.flatnonzero(batch.name == columns.names[_COLLECTIVE_OPERATOR]).tolist():
                    self.collectives[int(batch.index[row])] = arguments(batch.arguments[row])
        for name, values in columns_of_batch.items():
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
        self, structure: type[msgspec.Struct], batch: Batch, chosen: Int64s, columns: dict[str, npt.NDArray[Any]]
    ) -> None:
        texts = self.texts | {"old_stack": self.texts["stack"], "collective": Codes()}
        for field, values in typed_columns(structure, batch, chosen, texts).items():
            if field == "collective":
                for row in chosen[values >= 0].tolist():
                    self.collectives[int(batch.index[row])] = arguments(batch.arguments[row])
            elif field in _OLD_SPELLING:
                column = columns[_OLD_SPELLING[field]]
                absent = NULL if field == "old_external" else -1
                column[chosen] = np.where(values == absent, column[chosen], values)
            else:
                columns[field][chosen] = values
