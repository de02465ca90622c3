"""What joins Chrome events: ids and scopes of asynchronous ones, flows, counters, arguments of ends, stacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.reading import Reading, read
from support.traces import Event, complete, us, write


def event(phase: str, name: str, time_ns: int, *, pid: Any = 1, tid: Any = 1, **more: Any) -> Event:
    return {"ph": phase, "name": name, "pid": pid, "tid": tid, "ts": us(time_ns), **more}


def opened(folder: Path, events: list[Event], **around: Any) -> Reading:
    reading = read(write(folder / "trace.json", {"traceEvents": events, **around}))
    assert reading.reader == "chrome"
    return reading


def durations(reading: Reading) -> dict[str, int]:
    return {row["name"]: row["dur_ns"] for row in reading.rows("slices")}


def links(reading: Reading) -> list[tuple[str, str]]:
    names = {number: row["name"] for number, row in reading.slices.items()}
    return sorted((names[row["from_slice"]], names[row["to_slice"]]) for row in reading.rows("links"))


def details(reading: Reading) -> dict[str, Any]:
    """Arguments by the name of the slice that has them; each must be of a slice."""
    return {reading.slices[row["slice"]]["name"]: json.loads(row["json"]) for row in reading.rows("details")}


# --- asynchronous events ----------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["local", "global"])
def test_ids_of_the_second_kind_tell_operations_apart(where: str, tmp_path: Path) -> None:
    events = [
        event("b", "A", 0, cat="c", id2={where: "0x1"}),
        event("b", "B", 5_000, cat="c", id2={where: "0x2"}),
        event("e", "A", 10_000, cat="c", id2={where: "0x1"}),
        event("e", "B", 30_000, cat="c", id2={where: "0x2"}),
    ]
    reading = opened(tmp_path, events)
    assert durations(reading) == {"A": 10_000, "B": 25_000}
    assert set(reading.codes) == {"no_step_marks"}


def test_a_local_id_ends_in_its_own_process_only(tmp_path: Path) -> None:
    events = [
        event("b", "mine", 0, cat="c", id2={"local": 1}),
        event("b", "yours", 1_000, pid=2, cat="c", id2={"local": 1}),
        event("e", "mine", 4_000, cat="c", id2={"local": 1}),
        event("e", "stranger", 5_000, pid=3, cat="c", id2={"local": 1}),
        event("e", "yours", 9_000, pid=2, cat="c", id2={"local": 1}),
    ]
    reading = opened(tmp_path, events)
    assert durations(reading) == {"mine": 4_000, "yours": 8_000}
    assert reading.codes["end_without_begin"] == 1


def test_other_ids_may_end_in_another_process(tmp_path: Path) -> None:
    for more in ({"id": "0x1"}, {"id2": {"global": "0x1"}}):
        events = [event("b", "A", 0, cat="c", **more), event("e", "A", 10_000, pid=2, tid=9, cat="c", **more)]
        reading = opened(tmp_path, events)
        assert durations(reading) == {"A": 10_000}
        assert not reading.codes.keys() & {"begin_without_end", "end_without_begin"}


def test_processes_that_count_their_ids_alike_keep_their_own_operations(tmp_path: Path) -> None:
    events = [
        event("b", "mine", 0, cat="c", id=1),
        event("b", "yours", 1_000, pid=2, cat="c", id=1),
        event("e", "mine", 4_000, cat="c", id=1),  # the innermost open one of this id is the other's
        event("e", "yours", 9_000, pid=2, cat="c", id=1),
    ]
    assert durations(opened(tmp_path, events)) == {"mine": 4_000, "yours": 8_000}


def test_an_end_elsewhere_does_not_close_what_begins_later(tmp_path: Path) -> None:
    events = [event("e", "early", 1_000, pid=2, cat="c", id=1), event("b", "late", 2_000, cat="c", id=1)]
    reading = opened(tmp_path, events)
    assert (reading.codes["end_without_begin"], reading.codes["begin_without_end"]) == (1, 1)


def test_scopes_keep_equal_ids_apart(tmp_path: Path) -> None:
    events = [
        event("b", "C", 0, cat="c", id=3, scope="s1"),
        event("b", "D", 1_000, cat="c", id=3, scope="s2"),
        event("e", "C", 5_000, cat="c", id=3, scope="s1"),
        event("e", "D", 9_000, cat="c", id=3, scope="s2"),
    ]
    assert durations(opened(tmp_path, events)) == {"C": 5_000, "D": 8_000}


@pytest.mark.parametrize("broken", [{}, [], "text", 7, {"local": None}, {"other": 1}, None])
def test_ids_that_are_none_do_no_harm(broken: Any, tmp_path: Path) -> None:
    events = [
        event("b", "A", 0, cat="c", id2=broken, scope=broken, bp=broken, sf=broken, bind_id=broken, flow_in=broken),
        event("e", "A", 10_000, cat="c", id2=broken, scope=broken),
    ]
    assert durations(opened(tmp_path, events)) == {"A": 10_000}


# --- flows ------------------------------------------------------------------------------------------------


def test_a_flow_goes_from_step_to_step(tmp_path: Path) -> None:
    events = [
        *(complete(None, name, start, 10_000, tid=name) for name, start in (("p", 0), ("q", 20_000), ("r", 40_000))),
        event("s", "n", 5_000, tid="p", cat="f", id=1),
        event("t", "n", 22_000, tid="q", cat="f", id=1),
        event("f", "n", 42_000, tid="r", cat="f", id=1, bp="e"),
    ]
    reading = opened(tmp_path, events)
    assert links(reading) == [("p", "q"), ("q", "r")]
    assert set(reading.codes) == {"no_step_marks"}


def test_an_end_without_binding_point_belongs_to_the_next_slice_of_its_thread(tmp_path: Path) -> None:
    events = [
        complete(None, "p", 0, 10_000),
        complete(None, "around", 12_000, 90_000, tid=2),
        complete(None, "before", 13_000, 1_000, tid=2),
        complete(None, "next", 20_000, 10_000, tid=2),
        complete(None, "inside", 20_000, 5_000, tid=2),
        complete(None, "other thread", 16_000, 1_000, tid=3),
        event("s", "m", 5_000, cat="f", id=1),
        event("f", "m", 15_000, tid=2, cat="f", id=1),
        event("s", "m", 5_000, cat="f", id=2),
        event("f", "m", 20_000, tid=2, cat="f", id=2),  # the moment itself counts
        event("s", "m", 5_000, cat="f", id=3),
        event("f", "m", 20_001, tid=2, cat="f", id=3),  # nothing begins behind it
    ]
    reading = opened(tmp_path, events)
    assert links(reading) == [("p", "next"), ("p", "next")]
    assert reading.codes["flow_unbound"] == 1


def test_slices_that_name_their_flow_are_linked(tmp_path: Path) -> None:
    def bound(name: str, start_ns: int, number: Any, **ways: Any) -> Event:
        return complete(None, name, start_ns, 1_000, tid=name) | {"bind_id": number, **ways}

    events = [
        bound("end", 90_000, "0x5", flow_in=True),
        bound("start", 0, "0x5", flow_out=True),
        bound("middle", 20_000, "0x5", flow_in=True, flow_out=True),
        bound("elsewhere", 30_000, "0x6", flow_in=True),
        bound("silent", 30_000, "0x5", flow_in=False),
        event("B", "pair", 50_000, bind_id="0x7", flow_out=True),
        event("E", "pair", 51_000),
        bound("receiver", 60_000, "0x7", flow_in=True),
        event("E", "no slice", 70_000, bind_id="0x7", flow_in=True),
    ]
    reading = opened(tmp_path, events)
    assert links(reading) == [("middle", "end"), ("pair", "receiver"), ("start", "middle")]
    assert {row["kind"] for row in reading.rows("links")} == {"flow"}
    assert (reading.codes["flow_without_start"], reading.codes["flow_unbound"]) == (1, 1)


# --- counters, arguments, stacks --------------------------------------------------------------------------


def test_counters_with_ids_are_series_of_their_own(tmp_path: Path) -> None:
    events = [
        event("C", "queue", 0, id=1, args={"v": 1}),
        event("C", "queue", 0, id=2, args={"v": 100}),
        event("C", "queue", 5_000, id=1, args={"v": 2}),
        event("C", "queue", 5_000, id2={"local": "0x3"}, args={"v": 7}),
        event("C", "queue", 6_000, args={"v": 9}),
    ]
    reading = opened(tmp_path, events)
    names = {row["track"]: row["name"] for row in reading.rows("tracks")}
    found = sorted((names[row["track"]], row["time_ns"], row["value"]) for row in reading.rows("counters"))
    assert found == [
        ("queue v", 6_000, 9.0),
        ("queue[0x3] v", 5_000, 7.0),
        ("queue[1] v", 0, 1.0),
        ("queue[1] v", 5_000, 2.0),
        ("queue[2] v", 0, 100.0),
    ]


def test_a_slice_has_the_arguments_of_its_begin_and_its_end(tmp_path: Path) -> None:
    events = [
        event("B", "outer", 0, args={"a": 1, "same": "begin"}),
        event("B", "inner", 2_000),
        event("E", "", 4_000, args={"r": 9}),
        event("b", "async", 5_000, cat="c", id=1, args={"big": 12345678901234567890123}),
        event("E", "", 10_000, args={"b": 2, "same": "end"}),
        event("e", "async", 11_000, cat="c", id=1, args={}),
        event("E", "nothing begun", 12_000, args={"lost": True}),
    ]
    reading = opened(tmp_path, events)
    assert details(reading) == {
        "outer": {"a": 1, "same": "end", "b": 2},
        "inner": {"r": 9},
        "async": {"big": 12345678901234567890123},
    }


def test_stacks_are_read_by_reference(tmp_path: Path) -> None:
    frames = {
        "1": {"category": "py", "name": "main"},
        "2": {"category": "py", "name": "train", "parent": "1"},
        "7": {"category": "py", "name": "endless", "parent": "7"},
    }
    events = [
        complete(None, "a", 0, 10) | {"sf": 2},
        complete(None, "b", 20, 10) | {"sf": "2"},
        complete(None, "c", 40, 10) | {"sf": "9"},
        event("i", "d", 60) | {"sf": "1"},
        complete(None, "e", 80, 10),
        complete(None, "f", 100, 10) | {"sf": 7},
    ]
    reading = opened(tmp_path, events, stackFrames=frames)
    texts = {row["stack"]: row["frames"] for row in reading.rows("stacks")}
    found = {row["name"]: texts.get(row["stack"]) for row in reading.rows("slices")}
    assert found.pop("f") == "\n".join(["endless"] * 500)
    assert found == {"a": "main\ntrain", "b": "main\ntrain", "c": None, "d": "main", "e": None}
    assert reading.codes["stack_unknown"] == 1


def test_processes_of_one_name_stay_several(tmp_path: Path) -> None:
    events = [
        *(
            {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
            for pid, name in ((1, "python"), (2, "python"), (3, "server"))
        ),
        *(complete(None, "f", 0, 10, pid=pid) for pid in (1, 2, 3)),
    ]
    processes = [row["process"] for row in opened(tmp_path, events).rows("tracks")]
    assert processes == ["python (pid 1)", "python (pid 2)", "server"]
