"""The arguments of Ascend's timeline events that become columns; the rest stays in ``details``.

The process of an event is known only when the whole file is read, so the keys themselves tell what an event is.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from stepscope.arrays import NULL, Int64s
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import Batch
from stepscope.readers.trace_json.typed_arguments import NO_TEXT, typed_columns


class _Operator(msgspec.Struct, gc=False):
    """Framework operators on the host."""

    input_shapes: msgspec.Raw = msgspec.field(name="Input Dims", default=NO_TEXT)
    dtypes: msgspec.Raw = msgspec.field(name="Input type", default=NO_TEXT)
    stack: msgspec.Raw = msgspec.field(name="Call stack", default=NO_TEXT)


class _Task(msgspec.Struct, gc=False):
    """Tasks on a stream."""

    task_type: str | None = msgspec.field(name="Task Type", default=None)
    stream: int = msgspec.field(name="Physic Stream Id", default=NULL)
    task: int = msgspec.field(name="Task Id", default=NULL)
    context: int = msgspec.field(name="Subtask Id", default=NULL)
    connection: int = msgspec.field(name="connection_id", default=NULL)
    bytes: int = msgspec.field(name="data size(Byte)", default=NULL)
    operator: str | None = msgspec.field(name="mindspore_op", default=None)


class _PlaneTask(msgspec.Struct, gc=False):
    """Small communication tasks on a plane."""

    task_type: str | None = msgspec.field(name="task type", default=None)
    stream: int = msgspec.field(name="stream id", default=NULL)
    task: int = msgspec.field(name="task id", default=NULL)
    context: int = msgspec.field(name="context id", default=NULL)
    source: int = msgspec.field(name="src rank", default=NULL)
    peer: int = msgspec.field(name="dst rank", default=NULL)
    bytes: int = msgspec.field(name="size(Byte)", default=NULL)
    transport: str | None = msgspec.field(name="transport type", default=None)
    link: str | None = msgspec.field(name="link type", default=None)


class _Call(msgspec.Struct, gc=False):
    """Whole communication calls."""

    connection: int = msgspec.field(name="connection_id", default=NULL)
    count: int = msgspec.field(name="count", default=NULL)
    data_type: str | None = msgspec.field(name="data_type", default=None)
    algorithm: str | None = msgspec.field(name="alg_type", default=None)


class _HostCall(msgspec.Struct, gc=False):
    """Calls of CANN."""

    connection: int = msgspec.field(name="connection_id", default=NULL)


#: What an event is, by the first of these keys that its arguments have.
_BY_KEY: Final[tuple[tuple[bytes, type[msgspec.Struct]], ...]] = (
    (b'"Task Type"', _Task),
    (b'"task type"', _PlaneTask),
    (b'"alg_type"', _Call),
    (b'"data_type"', _Call),
    (b'"connection_id"', _HostCall),
)
_BY_CATEGORY: Final[dict[str | None, type[msgspec.Struct] | None]] = {
    "cpu_op": _Operator,
    "python_function": None,
    "enqueue": None,
    "dequeue": None,
}
INTEGERS: Final = ("stream", "task", "context", "connection", "bytes", "source", "peer", "count")
WORDS: Final = ("task_type", "operator", "transport", "link", "data_type", "algorithm")
RAWS: Final = ("input_shapes", "dtypes", "stack")
_COLUMNS: Final = (*INTEGERS, *WORDS, *RAWS, "family")
#: The layer that a family of arguments belongs to, for tracks whose process has no name.
FAMILY_LAYERS: Final = {_Operator: "python", _Task: "hardware", _PlaneTask: "plane", _Call: "group", _HostCall: "cann"}
_FAMILY_CODES: Final = {structure: code for code, structure in enumerate(FAMILY_LAYERS)}


class TaskArguments:
    """Per complete event, in the order of the batches: integers with NULL, texts as codes with -1.

    Column ``family`` is an index into FAMILY_LAYERS, -1 where the arguments tell nothing.
    """

    def __init__(self) -> None:
        self.texts = {name: Codes() for name in (*WORDS, *RAWS)}
        self._count = 0
        self._parts: dict[str, list[tuple[Int64s, npt.NDArray[Any]]]] = {name: [] for name in _COLUMNS}

    def add(self, batch: Batch, categories: Codes) -> None:
        """Take the arguments of a batch of complete events in."""
        raws, words = batch.arguments, categories.texts()
        having = batch.argument_lengths > len("{}")
        # All events of one track and category are of one family, so one of them tells.
        _, first, kind = np.unique(
            batch.track.astype(np.int64) << 32 | np.where(having, batch.category, -1),
            return_index=True,
            return_inverse=True,
        )
        families = [_family(words[batch.category[row]], raws[row]) if having[row] else None for row in first.tolist()]
        for structure in dict.fromkeys(families):
            if structure is not None:
                wanted = np.array([family is structure for family in families])[kind] & having
                self._add_family(structure, batch, np.flatnonzero(wanted))
        self._count += len(raws)

    def take(self, count: int) -> dict[str, npt.NDArray[Any]]:
        """All columns, lengthened to ``count`` for slices that are no complete events."""
        taken = {}
        for name in _COLUMNS:
            taken[name] = np.full(count, NULL, np.int64) if name in INTEGERS else np.full(count, -1, np.int32)
            for rows, values in self._parts.pop(name):
                taken[name][rows] = values
        return taken

    def _add_family(self, structure: type[msgspec.Struct], batch: Batch, chosen: Int64s) -> None:
        rows = chosen + self._count
        self._parts["family"].append((rows, np.full(len(rows), _FAMILY_CODES[structure], np.int32)))
        for name, values in typed_columns(structure, batch, chosen, self.texts).items():
            self._parts[name].append((rows, values))


def _family(category: str | None, text: bytes) -> type[msgspec.Struct] | None:
    if category in _BY_CATEGORY:
        return _BY_CATEGORY[category]
    return next((structure for key, structure in _BY_KEY if key in text), None)
