"""Who waits for whom and whom it goes back to: chains by hand, and moment by moment as an independent way."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import stepscope
from analysis.stores import make_store
from stepscope.analysis.cluster.waiting.roots import roots
from stepscope.analysis.cluster.waiting.waits import WAIT, waits
from stepscope.analysis.communication import communication
from stepscope.simulate.scenario import FaultEntry, Plan
from stepscope.simulate.writing import simulate
from stepscope.store.run_store import RunStore
from support.scenarios import GPU, NPU, small

#: Microseconds that the clock of each rank is ahead; nothing may depend on it.
CLOCK = {0: 0, 1: 5_000_000, 2: -70_000, 3: 900}


def _call(rank: int, came: int, ended: int, kind: str = "all_reduce", **more: Any) -> dict[str, Any]:
    times = {"start_ns": (came + CLOCK[rank]) * 1000, "end_ns": (ended + CLOCK[rank]) * 1000}
    return {"rank": rank, "group": "all", "kind": kind, "step": 1, **times, **more}


def _run(directory: Path, *calls: dict[str, Any], kernels: list[dict[str, Any]] | None = None) -> RunStore:
    numbered = [{"slice": number, **call} for number, call in enumerate(calls)]
    slices = [{"name": "k", "kind": "kernel", "stream": 7, **kernel} for kernel in kernels or []]
    ranks = sorted({call["rank"] for call in calls})
    more = {"slices": slices} if slices else {}
    return make_store(directory, ranks=[{"rank": rank} for rank in ranks], collectives=numbered, **more)


def _blame(store: RunStore) -> dict[tuple[int, int, int], float]:
    return {(row.rank, row.blames, row.root): row.wait_us for row in communication(store).data.waits}


# Rank 0 sends to rank 1 only at 80; rank 1 has waited since 10, and then comes to the reduction at 95.
_LATE_SENDER = [_call(0, 80, 85, "send", peer=1), _call(1, 10, 85, "receive", peer=0)]


def test_a_receive_waits_for_the_send_it_belongs_to(tmp_path: Path) -> None:
    assert _blame(_run(tmp_path, *_LATE_SENDER)) == {(1, 0, 0): 70}


def test_a_wait_is_passed_on_along_what_the_late_rank_waited_for(tmp_path: Path) -> None:
    reduction = [_call(1, 95, 100), _call(2, 40, 100)]
    # Rank 2 waits for rank 1 from 40 to 95. Until 80 rank 1 waited for rank 0; the last 15 us are its own.
    assert _blame(_run(tmp_path, *_LATE_SENDER, *reduction)) == {(1, 0, 0): 70, (2, 1, 0): 40, (2, 1, 1): 15}


def test_a_rank_that_computes_while_it_waits_is_late_by_itself(tmp_path: Path) -> None:
    reduction = [_call(1, 95, 100), _call(2, 40, 100)]
    # Until 70 rank 1 computes beside its receive, so nobody but itself holds it up.
    computes = {"rank": 1, "start_ns": (5 + CLOCK[1]) * 1000, "dur_ns": 65_000}
    store = _run(tmp_path, *_LATE_SENDER, *reduction, kernels=[computes])
    assert _blame(store) == {(1, 0, 0): 70, (2, 1, 0): 10, (2, 1, 1): 45}


def test_the_wait_recorded_for_an_absent_rank_names_it(tmp_path: Path) -> None:
    calls = [{"slice": rank, **_call(rank, 0, 100, name="sum_1")} for rank in (0, 1)]
    wait = {"kind": "wait", "group": "all", "call": "sum_1", "step": 1}
    planes = [
        {"rank": 0, "peer": 1, "plane": 0, "time_ns": 9_000, **wait},
        {"rank": 0, "peer": 5, "plane": 1, "time_ns": 60_000, **wait},
        {"rank": 0, "peer": 5, "plane": 1, "time_ns": 20_000, **wait},
    ]
    store = make_store(tmp_path, ranks=[{"rank": 0}, {"rank": 1}], collectives=calls, transfers=planes)
    assert _blame(store) == {(0, 5, 5): 80}
    assert communication(store).data.groups[0].ranks == [0, 1, 5]


def _moment_by_moment(rows: pl.DataFrame) -> dict[tuple[int, int], int]:
    """Every nanosecond of a wait: go from rank to rank until one does not wait."""
    held = list(rows.iter_rows(named=True))
    credit: dict[tuple[int, int], int] = {}
    for number, wait in enumerate(held):
        for moment in range(wait["start_ns"], wait["start_ns"] + wait["wait_ns"]):
            late, now = wait["blames"], moment + wait["came_ns"] - wait["start_ns"] - wait["wait_ns"]
            while own := [
                other
                for other in held
                if other["rank"] == late and other["start_ns"] <= now < other["start_ns"] + other["wait_ns"]
            ]:
                late, now = own[0]["blames"], now + own[0]["came_ns"] - own[0]["start_ns"] - own[0]["wait_ns"]
            credit[number, late] = credit.get((number, late), 0) + 1
    return credit


@pytest.mark.parametrize("seed", range(20))
def test_chains_are_those_of_a_walk_moment_by_moment(seed: int, tmp_path: Path) -> None:
    chance = np.random.default_rng(seed)
    rows: list[tuple[int, ...]] = []
    for rank in range(4):  # each waits only for higher ranks, so no circle can close
        edges = sorted(chance.choice(200, 8, replace=False).tolist())
        for start, end in [*pairwise(edges)][::2] if rank < 3 else []:
            blames = int(chance.integers(rank + 1, 4))
            came = end + 1000 * (blames - rank)  # the clock of each rank is 1000 ahead of the one before
            rows.append((rank, len(rows), 1, start + 1000 * rank, end - start, blames, came + 1000 * rank))
    frame = pl.DataFrame(rows, schema=WAIT, orient="row").sort("rank", "start_ns", "slice")
    store = make_store(tmp_path, ranks=[{"rank": rank} for rank in range(4)])
    ours = {(wait, root): time for wait, root, time in roots(store, frame).iter_rows()}
    assert ours == _moment_by_moment(frame)


@pytest.mark.parametrize("device", [GPU, NPU], ids=lambda device: device.kind)
def test_under_pipeline_parallelism_the_root_is_the_slow_rank_and_not_its_victims(device: Any, tmp_path: Path) -> None:
    slow = FaultEntry(kind="slow_rank", cause="compute", ranks=(0,), strength=0.3)
    scenario = small(device, plan=Plan(dp=4, pp=4, micro_batches=8), faults=(slow,))
    run = stepscope.load(simulate(scenario, tmp_path / "run").directory, progress=False)
    rows = pl.DataFrame([(row.blames, row.root, row.wait_us) for row in run.communication().waits], orient="row")
    direct, root = (dict(rows.group_by(name).agg(pl.col("column_2").sum()).iter_rows()) for name in rows.columns[:2])
    # The stages behind the slow rank come late because of it.
    assert max(root, key=lambda rank: root[rank]) == 0
    assert root[0] > direct[0]
    assert all(root[victim] < direct[victim] for victim in (4, 8, 12))


def test_parts_of_a_wait_add_up_to_it(tmp_path: Path) -> None:
    scenario = small(plan=Plan(dp=2, tp=2, pp=2, micro_batches=4))
    store = stepscope.load(simulate(scenario, tmp_path / "run").directory, progress=False).store
    rows = waits(store).rows
    parts = roots(store, rows).group_by("wait").agg(pl.col("wait_ns").sum()).sort("wait")
    assert parts["wait_ns"].to_list() == rows["wait_ns"].to_list()


def test_calls_that_only_tables_tell_of_are_compared_too(tmp_path: Path) -> None:
    """As in a capture of communication.json alone: no slice, but start, length and step."""
    names = {"group": "g", "kind": "all_reduce", "name": "hcom_allReduce__586_0_1", "step": 1}
    rows = [
        {"rank": rank, "slice": None, "seq": number, "start_ns": 1000 * number + late, "end_ns": 1000 * number + 900}
        for number in (1, 2)
        for rank, late in ((0, 0), (1, 300), (2, 100))
    ]
    store = make_store(tmp_path, collectives=[names | row for row in rows])

    waited = waits(store).rows
    assert set(waited.select("rank", "wait_ns", "blames").iter_rows()) == {(0, 300, 1), (2, 200, 1)}
