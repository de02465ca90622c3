"""The events of a snapshot as columns, packed while the file is read so that a long history stays small."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stepscope.arrays import NULL, Int64s
from stepscope.readers.files.exact_time import LARGEST_NS, nanoseconds
from stepscope.readers.files.repair import clean_text
from stepscope.readers.memory_snapshot.stack_texts import StackTexts
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import integers

_KNOWN: Final = frozenset(
    (
        *("action", "addr", "size", "stream", "time_us", "frames", "forward_frames", "category", "pool_id"),
        *("compile_context", "user_metadata", "device", "device_free"),
    )
)
_NO_CONTEXT: Final = (None, "", "N/A")
_LONGEST_WORD: Final = 200
_FIELDS: Final = ("action", "address", "size", "stream", "time", "stack", "category", "pool", "free")


@dataclass(frozen=True)
class Trace:
    """The events of one device in their order; NULL where an event lacks the value. ``first`` numbers the first."""

    action: Int64s
    address: Int64s
    size: Int64s
    stream: Int64s
    time: Int64s  # ns
    stack: Int64s  # NO_STACK where it has none
    category: Int64s  # -1 where it has none
    pool: Int64s  # -1 where the event does not tell
    free: Int64s
    first: int = 0

    def __len__(self) -> int:
        return len(self.action)

    @property
    def seq(self) -> Int64s:
        """The number of each event within its file."""
        return np.arange(self.first, self.first + len(self), dtype=np.int64)


class TraceColumns:
    """Packs events, and joins the packs of a device."""

    def __init__(self, stacks: StackTexts) -> None:
        self.stacks = stacks
        self.actions = Codes()
        self.categories = Codes()
        self.pools = Codes()
        self.unknown: Counter[str] = Counter()  # fields that have no place in a run
        self.compiled = 0  # events inside a compiled region
        self.dropped = 0  # elements that are no events

    def pack(self, items: list[Any]) -> Trace | None:
        """The elements as columns if all are events, else None."""
        if not all(type(item) is dict and type(item.get("action")) is str for item in items):
            return None
        actions, categories, pools = self.actions, self.categories, self.pools
        for key in set().union(*items) - _KNOWN:
            self.unknown[key] += sum(key in item for item in items)
        self.compiled += sum(item.get("compile_context") not in _NO_CONTEXT for item in items)
        columns = (
            [actions[_word(item["action"])] for item in items],
            [item.get("addr") for item in items],
            [item.get("size") for item in items],
            [item.get("stream") for item in items],
            [self.stacks.number(item.get("frames") or item.get("forward_frames")) for item in items],
            [categories[word] if (word := _category(item)) else -1 for item in items],
            [pools[pair] if (pair := pool_of(item.get("pool_id"))) else -1 for item in items],
            [item.get("device_free") for item in items],
        )
        action, address, size, stream, stack, category, pool, free = (integers(values) for values in columns)
        time = _times([item.get("time_us") for item in items])
        return Trace(action, address, size, stream, time, stack, category, pool, free)

    def join(self, elements: list[Any], first: int) -> Trace:
        """The trace of one device from its packs, and from events that were left as they are."""
        parts: list[Trace] = []
        loose: list[Any] = []
        for element in elements:
            if isinstance(element, Trace):
                parts += self._packed(loose)
                loose = []
                parts.append(element)
            else:
                loose.append(element)
        parts += self._packed(loose)
        joined = {name: np.concatenate([_NOTHING, *(getattr(part, name) for part in parts)]) for name in _FIELDS}
        return Trace(**joined, first=first)

    def _packed(self, items: list[Any]) -> list[Trace]:
        events = [item for item in items if type(item) is dict and type(item.get("action")) is str]
        self.dropped += len(items) - len(events)
        packed = self.pack(events) if events else None
        return [] if packed is None else [packed]


_NOTHING: Final = np.empty(0, np.int64)


def pool_of(value: Any) -> tuple[int, int] | None:
    """The pair that names a pool."""
    if isinstance(value, (tuple, list)) and len(value) == 2 and all(type(part) is int for part in value):
        return value[0], value[1]
    return None


def _category(item: dict[str, Any]) -> str | None:
    """What the recorder or the user called the memory."""
    word = item.get("category") or item.get("user_metadata")
    return _word(word) if isinstance(word, str) and word else None


def _times(values: list[Any]) -> Int64s:
    """Nanoseconds of times that the file has in whole microseconds."""
    if all(type(value) is int for value in values):
        return integers([value * 1000 if abs(value) <= LARGEST_NS // 1000 else NULL for value in values])
    return nanoseconds(
        [b"" if value is None or type(value) is bool else str(value).encode("utf-8", "replace") for value in values]
    )


def _word(text: str) -> str:
    return clean_text(text[:_LONGEST_WORD])
