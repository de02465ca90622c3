"""Tiles of slices and counters as bytes: a head, a record per tile, and the tiles' columns, all little endian."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from stepscope.analysis.foundation.byte_cache import ByteCache
from stepscope.analysis.timeline.counters import counter_tile
from stepscope.analysis.timeline.tiles import tile
from stepscope.analysis.timeline.view import TimelineView

#: The block number under which the merged lanes of a rank are asked for.
LANES_BLOCK: Final = -1

#: An answer holds no more; the rest is asked for again.
MOST_BATCH_BYTES: Final = 2_000_000

#: Encoded tiles to keep: coarse ones are few and asked for all the time.
MOST_TILE_BYTES: Final = 64 << 20

SLICES_MAGIC: Final = b"SST1"
COUNTERS_MAGIC: Final = b"SSC1"
_HEAD: Final = struct.Struct("<4sI")
_SLICE_RECORD: Final = struct.Struct("<IIII")
_COUNTER_RECORD: Final = struct.Struct("<IIIId")


@dataclass(frozen=True)
class TileKey:
    rank: int
    block: int
    level: int
    index: int


@dataclass(frozen=True)
class CounterKey:
    rank: int
    track: int
    level: int
    index: int


@dataclass(frozen=True)
class _Encoded:
    items: int
    body: bytes
    before: float = 0.0


Key = TypeVar("Key", TileKey, CounterKey)


def slice_tiles(view: TimelineView, keys: Sequence[TileKey], cache: ByteCache | None = None) -> bytes:
    """As many of the tiles as one answer may hold, the first in any case."""
    return _batch(SLICES_MAGIC, _SLICE_RECORD, _encoded(view, keys, cache, _slice_tile))


def counter_tiles(view: TimelineView, keys: Sequence[CounterKey], cache: ByteCache | None = None) -> bytes:
    """As many of the tiles of curves as one answer may hold, the first in any case."""
    return _batch(COUNTERS_MAGIC, _COUNTER_RECORD, _encoded(view, keys, cache, _counter_tile))


def _encoded(
    view: TimelineView, keys: Sequence[Key], cache: ByteCache | None, make: Callable[[TimelineView, Key], _Encoded]
) -> Iterable[_Encoded]:
    for key in keys:
        if cache is None:
            yield make(view, key)
        else:
            yield cache.get((view.version, key), partial(make, view, key), lambda value: len(value.body) + 200)


def _batch(magic: bytes, record: struct.Struct, tiles: Iterable[_Encoded]) -> bytes:
    chosen: list[_Encoded] = []
    size = _HEAD.size
    for each in tiles:
        size += record.size + len(each.body)
        if chosen and size > MOST_BATCH_BYTES:
            break
        chosen.append(each)
    offset = _HEAD.size + record.size * len(chosen)
    head = bytearray(_HEAD.pack(magic, len(chosen)))
    for index, each in enumerate(chosen):
        fields = (index, each.items, offset, 0)
        head += record.pack(*fields, each.before) if record is _COUNTER_RECORD else record.pack(*fields)
        offset += len(each.body)
    return b"".join((head, *(each.body for each in chosen)))


def _slice_tile(view: TimelineView, key: TileKey) -> _Encoded:
    lanes = key.block == LANES_BLOCK
    columns = view.lanes(key.rank).columns if lanes else view.columns(key.rank)
    made = tile(columns, 0 if lanes else key.block, key.level, key.index)
    return _Encoded(len(made.x0), made.encoded())


def _counter_tile(view: TimelineView, key: CounterKey) -> _Encoded:
    made = counter_tile(view.counters(key.rank), key.track, key.level, key.index)
    return _Encoded(len(made.bin), made.encoded(), made.before)
