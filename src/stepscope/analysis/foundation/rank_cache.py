"""What several questions need of a rank, worked out once: ``@cached_per_rank`` before a function of a store and a rank.

All results together hold at most 160 MB, and summaries 48, in one place for the whole process: beyond that the least
recently used ones go, so a server that runs for weeks does not grow. A result belongs to the opened store it was made
from; a capture that was read again is another store and finds nothing. Several threads may ask; one of them works, the
others wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.foundation.byte_cache import ByteCache
from stepscope.store.run_store import RunStore

Result = TypeVar("Result")

_HELD: Final = ByteCache(160 << 20)
_SUMMARIES: Final = ByteCache(48 << 20)


def cached_per_rank(function: Callable[[RunStore, int], Result]) -> Callable[[RunStore, int], Result]:
    """Remember what ``function`` gives for a store and a rank. Nobody may change it, so its arrays become read-only."""
    return _remembering(function, lambda: _HELD)


def cached_summary_per_rank(function: Callable[[RunStore, int], Result]) -> Callable[[RunStore, int], Result]:
    """The same for what is far smaller than that which it is made from, such as the steps of a rank.

    It has 48 MB of its own: of a thousand ranks it is still there when the slices of the first ones are long gone.
    """
    return _remembering(function, lambda: _SUMMARIES)


def _remembering(
    function: Callable[[RunStore, int], Result], cache: Callable[[], ByteCache]
) -> Callable[[RunStore, int], Result]:
    @wraps(function)
    def remembered(store: RunStore, rank: int) -> Result:
        key = (store.token, function.__module__, function.__qualname__, rank)
        result: Result = cache().get(key, lambda: function(store, rank), protected_bytes)
        return result

    return remembered


def protected_bytes(value: Any) -> int:
    """The size of all arrays and frames in a result, which can no longer be written afterwards.

    >>> protected_bytes((np.zeros(4, np.int64), [pl.Series([1, 2])]))
    48
    """
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
        return value.nbytes
    if isinstance(value, (pl.Series, pl.DataFrame)):
        return int(value.estimated_size())
    if isinstance(value, dict):
        return sum(map(protected_bytes, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(protected_bytes, value))
    if isinstance(value, msgspec.Struct):
        return value.__sizeof__() + sum(map(protected_bytes, msgspec.structs.astuple(value)))
    if isinstance(value, float):
        return value.__sizeof__()
    if is_dataclass(value):
        return sum(protected_bytes(getattr(value, field.name)) for field in fields(value))
    return 0
