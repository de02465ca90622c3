"""Notes: counted, kept apart where they differ, and the same after they were stored."""

from __future__ import annotations

import json
from pathlib import Path

import stepscope
from stepscope.store.notes import Note, Notes
from stepscope.store.run_store import note_rows
from support.mini_trace import complete, write_capture, write_trace


def test_equal_notes_are_counted_and_the_first_place_is_kept() -> None:
    notes = Notes()
    notes.add("event_dropped", file="a.json", place="event 3")
    notes.add("event_dropped", file="a.json", place="event 9", count=4)
    assert notes.all() == [Note("event_dropped", {}, "a.json", "event 3", 5)]


def test_notes_about_another_file_or_with_other_values_stand_alone() -> None:
    notes = Notes()
    notes.add("category_unknown", file="a.json", category="x")
    notes.add("category_unknown", file="a.json", category="y")
    notes.add("category_unknown", file="b.json", category="x")
    notes.add("event_dropped", file="a.json")
    assert [(note.code, note.file, note.params) for note in notes.all()] == [
        ("category_unknown", "a.json", {"category": "x"}),
        ("category_unknown", "a.json", {"category": "y"}),
        ("category_unknown", "b.json", {"category": "x"}),
        ("event_dropped", "a.json", {}),
    ]


def test_nothing_happened_makes_no_note() -> None:
    notes = Notes()
    notes.add("event_dropped", file="a.json", count=0)
    assert notes.all() == []


def test_a_note_has_a_sentence_in_each_language() -> None:
    note = Note("event_dropped", {}, "a.json", "event 3", 5)
    assert note.sentence() == "5 events in a.json could not be read and were dropped (first: event 3)."
    assert note.sentence("zh") == "a.json 中有 5 个事件无法读取，已丢弃（首处：event 3）。"


def test_a_row_of_a_note_holds_its_values_as_json() -> None:
    frame = note_rows([Note("category_unknown", {"category": "类别"}, "a.json", "", 2, rank=3), Note("mixed_formats")])
    assert frame.select("rank", "code", "file", "count").rows() == [
        (3, "category_unknown", "a.json", 2),
        (None, "mixed_formats", "", 1),
    ]
    assert [json.loads(params) for params in frame["params"]] == [{"category": "类别"}, {}]
    assert note_rows([]).columns == frame.columns


def test_notes_of_a_stored_run_are_those_of_its_reading(tmp_path: Path) -> None:
    events = [
        complete("aten::mm", "10.000", "5.000"),
        complete("odd", "20.000", "1.000", cat="奇怪"),
        complete("odd", "30.000", "1.000", cat="奇怪"),
        complete("backwards", "40.000", "-1.000"),
    ]
    trace = write_trace(tmp_path / "trace.json", events, rank=5)
    first = stepscope.load(trace, store=tmp_path / "store").notes
    again = stepscope.load(trace, store=tmp_path / "store").notes
    assert again == first
    found = {note.code: note for note in again}
    assert found["category_unknown"] == Note("category_unknown", {"category": "奇怪"}, "trace.json", "", 2, 5)
    assert found["duration_negative"] == Note("duration_negative", {}, "trace.json", "", 1, 5)
    assert found["no_step_marks"] == Note("no_step_marks", {}, "trace.json", "", 1, 5)


def test_notes_of_a_rank_go_and_stay_with_it(tmp_path: Path) -> None:
    capture = write_capture(tmp_path / "capture", [0, 1])
    for rank in (0, 1):
        write_trace(capture / f"rank{rank}.json", [complete("aten::mm", "1.000", "1.000")], rank=rank, world_size=2)
    run = stepscope.load(capture, store=tmp_path / "store")
    assert sorted((note.rank, note.code) for note in run.notes) == [(0, "no_step_marks"), (1, "no_step_marks")]
    marked = [complete("ProfilerStep#0", "0.000", "9.000", cat="user_annotation")]
    write_trace(capture / "rank1.json", marked, rank=1, world_size=2)
    run = stepscope.load(capture, store=tmp_path / "store")
    assert [(note.rank, note.code) for note in run.notes] == [(0, "no_step_marks")]
