"""How much a recording holds: what the allocator has handed out, not the pages that small blocks keep."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from stepscope.profiler.foundation import held_memory

_MB = 1 << 20
_LIBRARY = ctypes.CDLL(None)


def test_blocks_count_while_they_are_held() -> None:
    held = held_memory.measure_of_held_memory()
    before = held()
    block = bytearray(64 * _MB)
    assert held() - before >= 60 * _MB
    del block
    assert held() - before < 8 * _MB


def test_pages_that_small_blocks_keep_are_not_held() -> None:
    if not hasattr(_LIBRARY, "mallinfo2"):
        pytest.skip("needs glibc 2.33")
    held = held_memory.measure_of_held_memory()
    before = held()
    large, small = [], []
    for _ in range(2_000):
        large.append(bytearray(64 << 10))  # from the heap: glibc maps only larger blocks by themselves
        small.append(bytearray(600))
    assert held() - before >= 120 * _MB
    large.clear()
    assert held() - before < 8 * _MB
    assert len(small) == 2_000


class _CountsStandStill:
    """A C library beside an allocator that does not tell it anything."""

    def __init__(self) -> None:
        self.malloc, self.free = _LIBRARY.malloc, _LIBRARY.free
        self.mallinfo2 = lambda: SimpleNamespace(uordblks=7 * _MB, hblkhd=0)


class _NoCounts:
    """A C library without them, such as musl's."""

    def __getattr__(self, name: str) -> object:
        raise AttributeError(name)


@pytest.mark.parametrize("library", [_CountsStandStill, _NoCounts])
def test_without_counts_that_can_be_believed_pages_count(monkeypatch: pytest.MonkeyPatch, library: type) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library())
    assert held_memory.measure_of_held_memory() is held_memory.resident_bytes
    assert held_memory.resident_bytes() > 10 * _MB
