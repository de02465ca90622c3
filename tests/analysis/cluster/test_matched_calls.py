"""Collective calls over ranks, by hand: who came last, how long the others waited, and how late each was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from analysis.stores import make_store
from stepscope.analysis.cluster.calls.matched import matched_calls
from stepscope.analysis.cluster.waiting.delays import among_peers, delays_of
from stepscope.store.run_store import RunStore

#: Microseconds that the clock of each rank is ahead; nothing may depend on it.
CLOCK = {0: 0, 1: 5_000_000, 2: -70_000}


def _call(rank: int, came: int, ended: int, **more: Any) -> dict[str, Any]:
    shift = CLOCK[rank]
    times = {"start_ns": (came + shift) * 1000, "end_ns": (ended + shift) * 1000}
    return {"rank": rank, "group": "all", "kind": "all_reduce", "step": 1, **times, **more}


def _run(directory: Path, calls: list[dict[str, Any]], stages: dict[int, int] | None = None) -> RunStore:
    numbered = [{"slice": number, **call} for number, call in enumerate(calls)]
    ranks = [{"rank": rank, "pp": (stages or {}).get(rank)} for rank in CLOCK]
    return make_store(directory, ranks=ranks, collectives=numbered)


def _waits(store: RunStore) -> dict[int, tuple[int, int]]:
    rows = matched_calls(store).sort("call", "rank")
    return {row["rank"]: (row["wait_ns"] // 1000, row["late_ns"] // 1000) for row in rows.to_dicts()}


def test_the_last_to_come_waits_for_nobody(tmp_path: Path) -> None:
    store = _run(tmp_path, [_call(0, 0, 100), _call(1, 60, 100), _call(2, 20, 100)])
    # Rank 1 came 60 us after rank 0 and 40 us after rank 2: 50 us later than the others on the median.
    assert _waits(store) == {0: (60, -40), 1: (0, 50), 2: (40, -10)}
    assert set(matched_calls(store)["last_rank"]) == {1}


def test_calls_are_matched_by_number_or_else_by_order_within_the_step(tmp_path: Path) -> None:
    # Rank 1 lacks the first call; with numbers nobody is taken for the partner of another call.
    numbered = [_call(0, 0, 10, seq=0), _call(0, 20, 100, seq=1), _call(1, 90, 100, seq=1)]
    assert _waits(_run(tmp_path / "numbered", numbered)) == {0: (70, -70), 1: (0, 70)}
    steps = [_call(0, 0, 10, step=1), _call(0, 20, 100, step=2), _call(1, 90, 100, step=2)]
    assert _waits(_run(tmp_path / "steps", steps)) == {0: (70, -70), 1: (0, 70)}


def test_calls_of_two_groups_or_between_two_ranks_have_nothing_in_common(tmp_path: Path) -> None:
    calls = [_call(0, 0, 10), _call(1, 0, 10, group="other"), _call(1, 0, 50, kind="send"), _call(2, 0, 9, kind="send")]
    assert matched_calls(_run(tmp_path, calls)).is_empty()


def test_lateness_for_calls_under_way_at_once_is_one_delay(tmp_path: Path) -> None:
    # Ranks 0 and 2 begin two reductions at 0 and 10; rank 1 comes 100 us later to the first, 92 us later to the second.
    others = [_call(rank, came, ended) for rank in (0, 2) for came, ended in ((0, 105), (10, 110))]
    store = _run(tmp_path, [*others, _call(1, 100, 105), _call(1, 102, 110)])
    assert _delays(store) == {0: 0, 1: 100, 2: 0}


def test_delays_at_calls_that_follow_each_other_add_up(tmp_path: Path) -> None:
    others = [_call(rank, came, ended) for rank in (0, 2) for came, ended in ((0, 105), (200, 260))]
    store = _run(tmp_path, [*others, _call(1, 100, 105), _call(1, 250, 260)])
    assert _delays(store) == {0: 0, 1: 150, 2: 0}


def test_stages_of_a_pipeline_are_not_held_against_each_other(tmp_path: Path) -> None:
    calls = [_call(0, 0, 100), _call(1, 90, 100), _call(2, 0, 100)]
    assert _delays(_run(tmp_path, calls, stages={0: 0, 1: 1, 2: 0})) == {}


def _delays(store: RunStore) -> dict[int, int]:
    late = among_peers(store, matched_calls(store))
    frame = delays_of(late).with_columns(delay_us=pl.col("delay_ns") // 1000)
    return dict(frame.select("rank", "delay_us").iter_rows())
