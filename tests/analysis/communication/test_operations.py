"""Operations, links, groups and calls that somebody never joined, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.stores import make_store
from stepscope.analysis.communication import communication
from stepscope.errors import NoAnswerError


def _call(rank: int, start_us: int, end_us: int, **more: Any) -> dict[str, Any]:
    usual = {"group": "g", "kind": "all_reduce", "name": "sum", "step": 1, "slice": start_us}
    return {"rank": rank, "start_ns": start_us * 1000, "end_ns": end_us * 1000, **usual, **more}


def _ranks(*numbers: int) -> list[dict[str, Any]]:
    return [{"rank": number} for number in numbers]


def test_bandwidth_is_bytes_over_the_time_in_which_data_could_move(tmp_path: Path) -> None:
    # Rank 1 comes 60 us late; 40 us remain for 4 MB on either side, and the next call moves 1 MB in 90 us.
    calls = [
        _call(0, 0, 100, bytes=4_000_000),
        _call(1, 60, 100, bytes=4_000_000),
        _call(0, 200, 290, bytes=1_000_000),
        _call(1, 200, 290, bytes=1_000_000),
    ]
    groups = [{"group": "g", "ranks": [0, 1]}]
    (row,) = communication(make_store(tmp_path, ranks=_ranks(0, 1), collectives=calls, groups=groups)).data.operations
    assert (row.count, row.ranks, row.members, row.bytes) == (4, 2, 2, 10_000_000)
    assert (row.total_us, row.wait_us, row.transit_us) == (320, 60, 260)
    assert row.algorithm_gb_per_s == pytest.approx(10_000 / 260)
    assert row.bus_gb_per_s == row.algorithm_gb_per_s  # 2 (n-1)/n of two ranks is 1


@pytest.mark.parametrize(("kind", "factor"), [("all_reduce", 1.5), ("all_gather", 0.75), ("broadcast", 1)])
def test_bus_bandwidth_counts_what_a_link_carries(kind: str, factor: float, tmp_path: Path) -> None:
    calls, groups = [_call(0, 0, 10, kind=kind, bytes=10_000)], [{"group": "g", "ranks": [0, 1, 2, 3]}]
    (row,) = communication(make_store(tmp_path, collectives=calls, groups=groups)).data.operations
    assert (row.algorithm_gb_per_s, row.bus_gb_per_s) == (1.0, factor)


def test_what_is_not_recorded_is_not_invented(tmp_path: Path) -> None:
    answer = communication(make_store(tmp_path, collectives=[_call(0, 0, 10)]))
    (row,) = answer.data.operations
    assert (row.bytes, row.algorithm_gb_per_s, row.wait_us, row.transit_us) == (None, None, None, None)
    assert (answer.data.matrix, answer.data.links, answer.data.waits) == ([], [], [])
    assert {note.code for note in answer.notes} == {"waits_need_ranks", "no_link_data"}


def test_links_are_bytes_over_time_and_not_a_mean_of_rates(tmp_path: Path) -> None:
    moved = [("payload", 0, 1, 1_000, 1_000), ("reduce", 0, 1, 3_000, 1_000), ("payload", 0, 2, 1_000, 2_000)]
    transfers = [
        {"rank": rank, "peer": peer, "kind": kind, "transport": "HCCS", "bytes": size, "time_ns": time}
        for kind, rank, peer, size, time in [*moved, ("wait", 0, 1, 0, 9_000)]
    ]
    data = communication(make_store(tmp_path, transfers=transfers)).data
    assert [(link.peer, link.bytes, link.time_us, link.gb_per_s) for link in data.matrix] == [
        (1, 4_000, 2.0, 2.0),
        (2, 1_000, 2.0, 0.5),
    ]
    (transport,) = data.links
    assert (transport.links, transport.bytes, transport.gb_per_s) == (2, 5_000, 1.25)
    assert (transport.slowest_rank, transport.slowest_peer, transport.slowest_gb_per_s) == (0, 2, 0.5)


def test_a_call_that_a_member_never_joined_is_named_with_it(tmp_path: Path) -> None:
    calls = [
        _call(rank, 10 * seq, 10 * seq + 9, seq=seq) for rank in (0, 1, 2) for seq in (1, 2) if (rank, seq) != (2, 2)
    ]
    steps = [{"rank": rank, "step": 1} for rank in (0, 1, 2)]
    groups = [{"group": "g", "ranks": [0, 1, 2, 3]}]  # of rank 3 there are no files: nothing is held against it
    store = make_store(tmp_path, ranks=_ranks(0, 1, 2), collectives=calls, steps=steps, groups=groups)
    (call,) = communication(store).data.unjoined
    assert (call.seq, call.joined, call.missing) == (2, [0, 1], [2])


def test_ranks_and_steps_choose_what_is_shown_and_not_what_is_compared(tmp_path: Path) -> None:
    calls = [
        _call(rank, start, 100 * step, step=step)
        for step, lates in ((1, (0, 60)), (2, (150, 110)))
        for rank, start in enumerate(lates)
    ]
    store = make_store(tmp_path, ranks=_ranks(0, 1), collectives=calls)
    assert [(row.rank, row.blames, row.wait_us) for row in communication(store, ranks=[0]).data.waits] == [(0, 1, 60)]
    assert [(row.rank, row.blames, row.wait_us) for row in communication(store, steps=[2]).data.waits] == [(1, 0, 40)]


def test_a_run_without_communication_has_no_answer(tmp_path: Path) -> None:
    with pytest.raises(NoAnswerError):
        communication(make_store(tmp_path, ranks=_ranks(0)))
