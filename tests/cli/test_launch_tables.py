"""The tables of launches: a table that is cut shows the largest of all ranks, and times that add up have one unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.commands import Command
from support.traces import annotation, call, document, kernel, write

_GAPS_SHOWN = 20


def _rank(path: Path, rank: int, gaps_ns: list[int]) -> None:
    """A step of kernels of 1 ms, with these gaps between them; each is launched in the gap before it."""
    events: list[Any] = []
    now = 10_000
    for number, gap_ns in enumerate([0, *gaps_ns]):
        now += gap_ns
        events += [call("cudaLaunchKernel", now - 3_000, 2_000, number), kernel("gemm", now, 1_000_000, number)]
        now += 1_000_000
    events.append(annotation("ProfilerStep#1", 0, now))
    write(path / f"rank{rank}.json", document(events, distributedInfo={"rank": rank, "world_size": 2}))


@pytest.fixture
def two_ranks(tmp_path: Path) -> Path:
    """More gaps of 50 us on rank 0 than a table shows, and one of 5 ms on rank 1."""
    _rank(tmp_path / "job", 0, [50_000] * (_GAPS_SHOWN + 5))
    _rank(tmp_path / "job", 1, [5_000_000])
    return tmp_path / "job"


def test_the_longest_gap_of_all_ranks_comes_first(stepscope: Command, two_ranks: Path) -> None:
    shown = stepscope("launches", two_ranks, "--store", two_ranks.parent / "store").out
    rows = shown.partition("Longest gaps:\n")[2].splitlines()[2:]
    assert rows[0].split()[:3] == ["1", "1", "5,000.000"]
    assert rows[1].split()[:3] == ["0", "1", "50.000"]


def test_causes_of_idle_time_have_the_unit_of_idle_time(stepscope: Command, two_ranks: Path) -> None:
    _rank(two_ranks, 1, [20_000_000, 40_000])
    shown = stepscope("launches", two_ranks, "--store", two_ranks.parent / "store").out
    table = shown.partition("Idle time by cause:\n")[2].partition("What the host did")[0]
    assert "[ms]" in table
    assert "[µs]" not in table
    rows = {line.split()[0]: line.split() for line in table.splitlines() if line.lstrip()[:1] in ("0", "1")}
    assert rows["1"][2] == "20.050"  # with the 10 us before its first kernel
    assert rows["0"][2] == "1.260"  # 25 gaps of 50 us, and the same


def test_a_latency_has_the_unit_that_suits_it(stepscope: Command, two_ranks: Path) -> None:
    """Each call ends 1 us before its kernel begins."""
    shown = stepscope("launches", two_ranks, "--store", two_ranks.parent / "store").out
    assert "median latency 1 µs;" in shown
