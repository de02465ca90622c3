"""Waiting and moving data in calls, by hand: what each member spent on which, and what of it nothing hid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from analysis.stores import make_store
from stepscope.analysis.cluster.calls.costs import CallCostsBuilder, exposed_transfers
from stepscope.analysis.cluster.calls.matched import matched_calls
from stepscope.analysis.cluster.calls.paired import paired_calls
from stepscope.analysis.cluster.plan import plan_of
from stepscope.store.run_store import RunStore


def _job(
    directory: Path,
    calls: list[tuple[int, int, int]],
    kernels: list[tuple[int, int, int]],
    group: str | None = "g",
    sizes: tuple[int, int] = (8, 8),
) -> RunStore:
    """Calls and kernels as rank, start and end; the first call of a rank is matched with the first of the other."""
    rows: list[dict[str, Any]] = []
    for kind, entries in (("collective", calls), ("kernel", kernels)):
        rows += [{"rank": rank, "start_ns": a, "dur_ns": b - a, "kind": kind, "step": 1} for rank, a, b in entries]
    slices = [
        {"slice": number, "track": number % 2, "stream": 7, "name": row["kind"], **row}
        for number, row in enumerate(rows)
    ]
    collectives = [
        {"rank": rank, "slice": number, "group": group, "kind": "all_reduce", "step": 1, "start_ns": a, "end_ns": b}
        | {"bytes": sizes[rank]}
        for number, (rank, a, b) in enumerate(calls)
    ]
    tracks = [{"rank": rank, "track": track, "kind": "stream"} for rank in (0, 1) for track in (0, 1)]
    ranks = [{"rank": rank, "world_size": 2} for rank in (0, 1)]
    return make_store(directory, slices=slices, collectives=collectives, tracks=tracks, ranks=ranks)


def _costs(store: RunStore) -> pl.DataFrame:
    builder = CallCostsBuilder(store, plan_of(store))
    builder.add(matched_calls(store), paired_calls(store))
    return builder.finished().per_rank(lambda calls: calls)


def test_a_call_moves_data_from_when_its_last_member_came(tmp_path: Path) -> None:
    # Rank 1 comes 60 after rank 0; both end 40 later. Rank 0 computes for 20 of these 40, and 10 while it waits.
    store = _job(tmp_path, [(0, 0, 100), (1, 1060, 1100)], [(0, 20, 30), (0, 70, 90)])
    rows = {row["rank"]: row for row in _costs(store).to_dicts()}
    parts = ("wait_ns", "transfer_ns", "exposed_wait_ns", "exposed_transfer_ns", "complete")
    assert [rows[0][part] for part in parts] == [60, 40, 50, 20, True]
    assert [rows[1][part] for part in parts] == [0, 40, 0, 40, True]


def test_calls_that_move_data_at_the_same_time_count_once(tmp_path: Path) -> None:
    store = _job(tmp_path, [(0, 0, 50), (0, 30, 80), (1, 0, 50), (1, 30, 80)], [(0, 40, 60)])
    exposed = {(rank, step): ns for rank, step, ns in exposed_transfers(store, _costs(store)).iter_rows()}
    assert exposed == {(0, 1): 60, (1, 1): 80}


_MS = 1_000_000


def test_calls_without_a_group_that_all_ranks_end_together_are_calls_of_all_ranks(tmp_path: Path) -> None:
    # The clock of rank 1 is 5 ms ahead throughout; it comes 2 ms late to the first call, rank 0 1 ms to the second.
    calls = [(0, 0, 3), (0, 11, 14), (1, 7, 8), (1, 15, 19)]
    times = [(rank, a * _MS, b * _MS) for rank, a, b in calls]
    rows = _costs(_job(tmp_path / "together", times, [], None)).sort("rank", "arrival_ns")
    assert rows["complete"].to_list() == [True] * 4
    assert rows["wait_ns"].to_list() == [2 * _MS, 0, 0, 1 * _MS]


def test_calls_without_a_group_that_ranks_end_apart_may_be_of_several_groups(tmp_path: Path) -> None:
    apart = [(0, 0, 3), (0, 11, 14), (0, 20, 25), (1, 7, 8), (1, 15, 23), (1, 24, 26)]
    times = [(rank, a * _MS, b * _MS) for rank, a, b in apart]
    assert not _costs(_job(tmp_path / "apart", times, [], None))["complete"].any()
    together = [(0, 0, 3 * _MS), (1, 1, 3 * _MS)]
    assert not _costs(_job(tmp_path / "bytes", together, [], None, sizes=(8, 16)))["complete"].any()
    assert _costs(_job(tmp_path / "same", together, [], None))["complete"].all()
