"""Events of one piece of a trace, as objects or as columns of a scan, with one way to ask both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np

from stepscope.arrays import Int32s, Int64s
from stepscope.readers.files.exact_time import nanoseconds
from stepscope.readers.trace_json.event_identity import identities
from stepscope.readers.trace_json.trace_event import ABSENT, EVENT, Event

if TYPE_CHECKING:
    from stepscope.readers.trace_json.event_scanner import Scan

_Value = TypeVar("_Value")

_ENDS_AROUND: Final = msgspec.Raw(b'"e"')
_MOST_HEADS: Final = 1 << 15

#: Phase, category, name, process and thread of an event, and whether the flow that ends in it ends in the slice around
#: it. A trace of millions of events has some hundred of these sorts, so one look-up per event stands for several.
Sort = tuple[Any, Any, Any, Any, Any, bool]
NumberOfSort = Callable[[Sort], int]


def pick(values: Sequence[_Value], indices: Int64s) -> Sequence[_Value]:
    """Those at the indices."""
    return values if len(indices) == len(values) else [values[index] for index in indices.tolist()]


def field(events: Sequence[Event], name: str) -> list[Any]:
    """One field of each; without running Python for each of them."""
    return list(map(attrgetter(name), events))


class DecodedEvents:
    """Events as objects."""

    scan = None

    def __init__(self, events: list[Event]) -> None:
        self.objects = events

    def __len__(self) -> int:
        return len(self.objects)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.objects)

    def event(self, index: int) -> Event:
        return self.objects[index]

    def sorts(self, number: NumberOfSort) -> Int32s:
        """The number of each event's sort."""
        fields = [field(self.objects, name) for name in ("ph", "cat", "name", "pid", "tid")]
        around = map(_ENDS_AROUND.__eq__, field(self.objects, "bp"))
        return np.fromiter(map(number, zip(*fields, around, strict=True)), np.int32, len(self))

    def times(self) -> Int64s:
        return nanoseconds(field(self.objects, "ts"))

    def durations(self, indices: Int64s) -> Int64s:
        return nanoseconds(field(pick(self.objects, indices), "dur"))

    def arguments(self, indices: Int64s) -> list[bytes]:
        """As text, empty where there are none."""
        return list(map(bytes, field(pick(self.objects, indices), "args")))

    def argument_lengths(self, indices: Int64s) -> Int64s:
        return np.fromiter(map(len, field(pick(self.objects, indices), "args")), np.int64, len(indices))

    def identities(self, indices: Int64s) -> list[Any]:
        """What the events of one operation have in common besides their category, as something to look up."""
        return identities(pick(self.objects, indices))

    def have_ids(self, indices: Int64s) -> bool:
        own = pick(self.objects, indices)
        return any(field(own, name).count(ABSENT) < len(own) for name in ("id", "id2"))


class ScannedEvents:
    """Events as columns of a scan, which leaves all that is unusual to the decoder."""

    def __init__(self, scan: Scan, heads: Heads) -> None:
        self.scan = scan
        self._heads = heads
        columns = np.frombuffer(scan.events, np.int64).reshape(len(scan), -1).T
        self._column: Mapping[str, Int64s] = dict(zip(scan.COLUMNS, columns, strict=True))

    def __len__(self) -> int:
        return len(self.scan)

    def __iter__(self) -> Iterator[Event]:
        return map(self.event, range(len(self)))

    def event(self, index: int) -> Event:
        return EVENT.decode(self._text("", index))

    def sorts(self, number: NumberOfSort) -> Int32s:
        """The number of each event's sort."""
        numbers = self._heads.sorts(number)
        sorts: Int32s = numbers[self._column["head"]]
        return sorts

    def times(self) -> Int64s:
        return self._exactly("time", np.arange(len(self)))

    def durations(self, indices: Int64s) -> Int64s:
        return self._exactly("duration", indices)

    def arguments(self, indices: Int64s) -> Sequence[bytes]:
        """As text, empty where there are none."""
        return pick(self.scan.arguments, indices)

    def argument_lengths(self, indices: Int64s) -> Int64s:
        return self._column["arguments_length"][indices]

    def identities(self, indices: Int64s) -> list[bytes]:
        """What the events of one operation have in common besides their category, as something to look up."""
        return self.scan.ids(indices.tobytes())

    def have_ids(self, indices: Int64s) -> bool:
        return bool(self._column["id_end"][indices].any())

    def _text(self, what: str, index: int) -> bytes:
        return self.scan.text[self._column[what + "begin"][index] : self._column[what + "end"][index]]

    def _exactly(self, what: str, indices: Int64s) -> Int64s:
        """Times as the scan found them; it has none where they are not written plainly."""
        times = self._column[what][indices]
        odd = np.flatnonzero((times == self.scan.ABSENT) & (self._column[what + "_end"][indices] > 0))
        if len(odd):
            times[odd] = nanoseconds([self._text(what + "_", index) for index in indices[odd].tolist()])
        return times


class Heads(dict[bytes, int]):
    """Numbers for the text of what events have in common, in order of first sight."""

    def __init__(self) -> None:
        super().__init__()
        self._new: list[Sort] = []
        self._sorts = np.empty(0, np.int32)

    def __missing__(self, head: bytes) -> int:
        event = EVENT.decode(b"{" + head + b"}")
        self._new.append((event.ph, event.cat, event.name, event.pid, event.tid, event.bp == _ENDS_AROUND))
        self[head] = number = len(self)
        return number

    def sorts(self, number: NumberOfSort) -> Int32s:
        """The number of the sort by the number of the head."""
        if self._new:
            more = np.fromiter(map(number, self._new), np.int32, len(self._new))
            self._sorts, self._new = np.concatenate((self._sorts, more)), []
        return self._sorts

    def of_bounded_size(self) -> Heads:
        """This, or a new one if it has become large: in some files each event has a name of its own."""
        return self if len(self) < _MOST_HEADS else Heads()
