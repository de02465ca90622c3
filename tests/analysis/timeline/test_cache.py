"""What is kept is bounded, the least recently used goes first, and ten who ask at once make one value."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from analysis.timeline.runs import random_run
from stepscope.analysis.foundation.byte_cache import ByteCache
from stepscope.analysis.timeline.view import TimelineView


def test_the_least_recently_used_goes_first() -> None:
    cache = ByteCache(10)
    for key in "abc":
        cache.get(key, lambda: b"1234", len)
        cache.get("a", lambda: b"made again", len)
    made: list[str] = []

    def make(key: str) -> bytes:
        made.append(key)
        return b"1234"

    for key in "abc":
        cache.get(key, partial(make, key), len)
    assert made[0] == "b"
    assert cache.held_bytes <= 10


def test_a_value_larger_than_the_cache_is_still_given() -> None:
    cache = ByteCache(3)
    assert cache.get("a", lambda: b"12345", len) == b"12345"
    cache.get("b", lambda: b"1", len)
    assert cache.held_bytes == 1


def test_many_who_ask_at_once_get_one_value() -> None:
    cache, made = ByteCache(100), []

    def make() -> bytes:
        made.append(threading.get_ident())
        time.sleep(0.05)
        return b"value"

    with ThreadPoolExecutor(10) as pool:
        values = list(pool.map(lambda _: cache.get("key", make, len), range(10)))
    assert values == [b"value"] * 10
    assert len(made) == 1


def test_a_value_that_cannot_be_made_is_tried_again() -> None:
    cache = ByteCache(100)

    def fail() -> bytes:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        cache.get("key", fail, len)
    assert cache.get("key", lambda: b"there", len) == b"there"


def test_values_can_be_dropped() -> None:
    cache = ByteCache(100)
    cache.get(("run", 1), lambda: b"12", len)
    cache.drop(lambda key: isinstance(key, tuple) and key[0] == "run")
    assert cache.held_bytes == 0


def test_columns_are_read_once_and_released_for_those_of_another_run(tmp_path: Path) -> None:
    one, other = random_run(tmp_path / "1", 1), random_run(tmp_path / "2", 2)
    cache = ByteCache(1)
    first, second = TimelineView(one.store, cache), TimelineView(other.store, cache)
    columns = first.columns(0)
    assert first.columns(0) is columns
    second.columns(0)
    assert first.columns(0) is not columns
