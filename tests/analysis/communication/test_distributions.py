"""How long calls take, how far apart their members come, how large packets are: by hand, and as the vendor counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import stepscope
from analysis.stores import make_store
from stepscope.analysis.collectives import collectives
from stepscope.analysis.communication import communication


def _call(rank: int, start_ns: int, end_ns: int, **more: Any) -> dict[str, Any]:
    usual = {"group": "g", "kind": "all_reduce", "name": "sum", "step": 1, "slice": start_ns, "bytes": 8}
    return {"rank": rank, "start_ns": start_ns, "end_ns": end_ns, **usual, **more}


# Three members come at 0, 30 and 60 us and leave at 100 us; then at 200, 200 and 204 us for 8 us more.
_CALLS = [
    _call(0, 0, 100_000),
    _call(1, 30_000, 100_000),
    _call(2, 60_000, 100_000),
    _call(0, 200_000, 212_000),
    _call(1, 200_000, 212_000),
    _call(2, 204_000, 212_000),
    _call(2, 300_000, 300_999, group="h", name="other"),
]


def test_durations_are_counted_between_powers_of_two(tmp_path: Path) -> None:
    data = communication(make_store(tmp_path, collectives=_CALLS)).data
    bins = [(row.group, row.from_us, row.to_us, row.count) for row in data.durations]
    # 100 and 70 us lie between 64 and 128, 40 us between 32 and 64, nothing between 16 and 32; 12, 12 and 8 us between
    # 8 and 16; 0.999 us below 1.
    assert bins == [("g", 8, 16, 3), ("g", 16, 32, 0), ("g", 32, 64, 1), ("g", 64, 128, 2), ("h", 0, 1, 1)]


def test_durations_from_nothing_to_long_leave_no_power_of_two_out(tmp_path: Path) -> None:
    calls = [_call(0, 0, 500, group=None), _call(0, 1_000, 6_000, group=None)]  # 0.5 us and 5 us
    bins = communication(make_store(tmp_path, collectives=calls)).data.durations
    assert [(row.from_us, row.to_us, row.count) for row in bins] == [(0, 1, 1), (1, 2, 0), (2, 4, 0), (4, 8, 1)]


def test_the_skew_of_a_call_lies_between_its_first_and_last_member(tmp_path: Path) -> None:
    data = communication(make_store(tmp_path, collectives=_CALLS)).data
    summed, alone = data.operations
    assert (summed.skew_us, summed.max_skew_us) == (32, 60)  # 60 us, then 4 us
    assert (alone.skew_us, alone.max_skew_us) == (None, None)
    assert (summed.min_us, summed.p50_us, summed.max_us) == (8, 26, 100)  # 8, 12, 12, 40, 70, 100
    assert summed.p95_us == pytest.approx(92.5)


def test_a_rank_waits_and_moves_for_all_the_time_of_its_calls(tmp_path: Path) -> None:
    data = communication(make_store(tmp_path, collectives=_CALLS), group="g").data
    rows = [(row.rank, row.count, row.total_us, row.wait_us, row.transit_us, row.bytes) for row in data.by_rank]
    assert rows == [(0, 2, 112, 64, 48, 16), (1, 2, 82, 34, 48, 16), (2, 2, 48, 0, 48, 16)]


def test_a_group_or_an_operation_can_be_asked_for_alone(tmp_path: Path) -> None:
    moved = {"kind": "payload", "transport": "HCCS", "packets": 2, "step": 1, "peer": 1}
    transfers = [
        {"rank": 0, "group": "g", "call": "sum__12_0_1", "bytes": 2048, "time_ns": 10, **moved},
        {"rank": 0, "group": "h", "call": "other__13_0_1", "bytes": 4096, "time_ns": 10, **moved},
    ]
    store = make_store(tmp_path, collectives=_CALLS, transfers=transfers)
    for data in (communication(store, group="g").data, communication(store, operation="sum").data):
        assert {row.name for row in data.operations} == {"sum"}
        assert [link.bytes for link in data.matrix] == [2048]
        assert [(row.from_bytes, row.to_bytes, row.packets) for row in data.packets] == [(1024, 2048, 2)]
        assert {row.root for row in data.waits} == {2}
    assert communication(store, group="h").data.waits == []


def test_the_longest_waits_can_be_asked_for_alone(tmp_path: Path) -> None:
    answer = communication(make_store(tmp_path, collectives=_CALLS), limit=1)
    assert [(wait.rank, wait.wait_us) for wait in answer.data.waits] == [(0, 64)]
    # Rank 1 waited 34 of 98 us.
    (note,) = (note for note in answer.notes if note.code == "waits_left_out")
    assert (note.count, note.params["share"]) == (1, "34.7")


def test_single_calls_say_which_belong_together_and_what_they_waited(tmp_path: Path) -> None:
    ranks = [{"rank": 0}, {"rank": 1, "clock_offset_ns": 5_000}, {"rank": 2}]
    store = make_store(tmp_path, ranks=ranks, collectives=_CALLS)
    rows = collectives(store, group="g").data.to_dicts()
    assert [(row["rank"], row["start_ns"], row["wait_us"], row["skew_us"]) for row in rows[:3]] == [
        (0, 0, 60, 60),
        (1, 35_000, 30, 60),  # its clock is 5 us behind
        (2, 60_000, 0, 60),
    ]
    assert len({row["call"] for row in rows[:3]}) == 1
    assert rows[0]["call"] != rows[3]["call"]
    answer = collectives(store, limit=2)
    assert answer.data["duration_us"].to_list() == [100, 70]
    assert [(note.code, note.count) for note in answer.notes] == [("calls_left_out", 5)]


def test_the_usual_answer_on_calls_is_kept_and_the_same_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_store(tmp_path, ranks=[{"rank": rank} for rank in range(3)], collectives=_CALLS)
    first = collectives(store)
    with monkeypatch.context() as patched:
        patched.setattr("stepscope.analysis.collectives.AskedCalls", None)
        again = collectives(store)
        with pytest.raises(TypeError):  # another limit is worked out anew
            collectives(store, limit=2)
    assert again.data.equals(first.data)
    assert again.data.schema == first.data.schema
    assert again.notes == first.notes
    every_call = collectives(store, limit=1_000_000).data
    assert every_call.equals(first.data)


def test_packets_are_those_that_the_vendor_counts(shared_data: Path) -> None:
    capture = shared_data / "ascend" / "text_level1"
    theirs: Counter[int] = Counter()
    for path in capture.rglob("communication.json"):
        (step,) = json.loads(path.read_text("utf-8")).values()
        (total,) = (entry for name, entry in step["collective"].items() if name.startswith("Total Op Info"))
        for size_mb, (count, _) in total["Communication Bandwidth Info"]["HCCS"]["Size Distribution"].items():
            theirs[1 << (round(float(size_mb) * 1e6).bit_length() - 1)] += count
    assert theirs.total() == 112
    packets = stepscope.load(capture, progress=False).communication().packets
    assert {row.from_bytes: row.packets for row in packets} == theirs
