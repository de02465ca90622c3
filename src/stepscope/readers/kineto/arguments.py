"""The arguments of Kineto events that become columns; the rest stays in ``details``."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from stepscope.arrays import NULL, Int64s
from stepscope.facts.communication import communication_facts
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
    kernel: msgspec.Raw = NO_TEXT  # HIP's calls name what they launch


class _Device(_Any, gc=False):
    correlation: int = NULL
    stream: int = NULL
    bytes: int = NULL
    node: int = msgspec.field(name="graph node id", default=NULL)
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
_INTEGERS: Final = ("external", "correlation", "stream", "bytes", "node")
_TEXTS: Final = ("input_shapes", "dtypes", "stack", "module", "kernel")
#: What a column has where an event has nothing; one that no event fills is this alone, and needs no memory.
_ABSENT: Final[dict[str, np.signedinteger[Any]]] = {
    **dict.fromkeys(_INTEGERS, np.int64(NULL)),
    **dict.fromkeys(_TEXTS, np.int32(-1)),
}
_COLLECTIVE_OPERATOR: Final = "record_param_comms"
_OLD_SPELLING: Final = {"old_external": "external", "old_stack": "stack"}


class ArgumentColumns:
    """Per complete event, in the order of the batches."""

    def __init__(self) -> None:
        self.texts = {name: Codes() for name in _TEXTS}
        self.collectives: dict[int, dict[str, Any]] = {}  # arguments of communication calls, by event index
        self.host_transfers: dict[int, dict[str, Any]] = {}  # of operators that send or receive on the host
        self._parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in (*_INTEGERS, *_TEXTS)}

    def add(self, batch: Batch, columns: EventColumns) -> None:
        """Take the arguments of a batch of complete events in."""
        count = len(batch)
        columns_of_batch: dict[str, npt.NDArray[Any]] = {
            name: np.broadcast_to(_ABSENT[name], count) for name in _ABSENT
        }
        if count:
            structures = [
                _STRUCTURES.get(kind_of_category(text) or "annotation") for text in columns.categories.texts()
            ]
            having = batch.argument_lengths > 0
            for structure in dict.fromkeys(_STRUCTURES.values()):
                wanted = np.array([candidate is structure for candidate in structures])[batch.category] & having
                if wanted.any():
                    self._fill(structure, batch, np.flatnonzero(wanted), columns_of_batch)
            self._keep(self.collectives, _COLLECTIVE_OPERATOR, batch, columns)
            for name in communication_facts().host_transfers:
                self._keep(self.host_transfers, name, batch, columns)
        for name, values in columns_of_batch.items():
            self._parts[name].append(values)

    def take(self, count: int) -> dict[str, npt.NDArray[Any]]:
        """All columns, lengthened to ``count`` for slices that are no complete events."""
        taken = {}
        for name in list(self._parts):
            parts = self._parts.pop(name)
            if not any(part.flags.writeable for part in parts):
                taken[name] = np.broadcast_to(_ABSENT[name], count)
                continue
            missing = count - sum(map(len, parts))
            taken[name] = np.concatenate([*parts, np.broadcast_to(_ABSENT[name], missing)])
        return taken

    def _keep(self, kept: dict[int, dict[str, Any]], name: str, batch: Batch, columns: EventColumns) -> None:
        """All arguments of the events of a name."""
        if name in columns.names:
            for row in np.flatnonzero(batch.name == columns.names[name]).tolist():
                kept[int(batch.index[row])] = arguments(batch.arguments[row])

    def _fill(
        self, structure: type[msgspec.Struct], batch: Batch, chosen: Int64s, columns: dict[str, npt.NDArray[Any]]
    ) -> None:
        texts = self.texts | {"old_stack": self.texts["stack"], "collective": Codes()}
        for field, values in typed_columns(structure, batch, chosen, texts).items():
            if field == "collective":
                for row in chosen[values >= 0].tolist():
                    self.collectives[int(batch.index[row])] = arguments(batch.arguments[row])
                continue
            name = _OLD_SPELLING.get(field, field)
            column = columns[name]
            if not column.flags.writeable:
                column = columns[name] = column.copy()
            column[chosen] = np.where(values == _ABSENT[name], column[chosen], values) if name != field else values
