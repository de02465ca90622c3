"""Notes at a terminal: one line per kind, in full when a capture is read, counted afterwards, and never lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import Command
from support.mini_trace import complete, write_trace

QUERY = "SELECT 1 AS one"


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Three ranks without step marks; the second has two events that go backwards in time."""
    for rank in range(3):
        events = [complete("aten::mm", f"{place * 10}.000", "5.000") for place in range(4)]
        events += [complete("backwards", "90.000", "-1.000")] * (2 if rank == 1 else 0)
        write_trace(tmp_path / "capture" / f"trace_{rank}.json", events, rank=rank)
    return tmp_path / "capture"


def test_a_kind_of_note_takes_one_line_with_its_ranks_and_its_count(stepscope: Command, capture: Path) -> None:
    lines = stepscope("sql", capture, QUERY, "--store", capture.parent / "store").err.splitlines()
    about_steps = [line for line in lines if "no step marks" in line]
    about_times = [line for line in lines if "negative" in line]
    assert len(about_steps) == len(about_times) == 1
    assert about_steps[0].startswith("note: ranks 0-2: trace_0.json (also trace_1.json, trace_2.json) has ")
    assert about_times[0].startswith("note: rank 1: 2 ")
    assert len(lines) == 2


def test_notes_of_a_known_capture_are_counted(stepscope: Command, capture: Path) -> None:
    store = capture.parent / "store"
    stepscope("sql", capture, QUERY, "--store", store)
    (line,) = stepscope("sql", capture, QUERY, "--store", store).err.splitlines()
    assert line.startswith("note: Notes on this capture (2) were shown when it was first read.")
    assert line.endswith(f"stepscope ingest {capture}")
    chinese = stepscope("sql", capture, QUERY, "--store", store, "--lang", "zh").err
    assert chinese.startswith("注意：该采集数据有 2 类说明")
    assert "no step marks" in stepscope("ingest", capture, "--store", store).err


def test_every_note_can_be_listed_and_is_in_the_document(stepscope: Command, capture: Path) -> None:
    store = capture.parent / "store"
    listed = stepscope("ingest", capture, "--store", store, "--notes").err.splitlines()
    assert sum("no step marks" in line for line in listed) == 3
    document = json.loads(stepscope("sql", capture, QUERY, "--store", store, "--json").out)
    assert len(document["notes"]) == len(listed) == 4
    groups = {group["code"]: group for group in document["note_groups"]}
    assert groups["no_step_marks"]["ranks"] == [0, 1, 2]
    assert (groups["duration_negative"]["ranks"], groups["duration_negative"]["count"]) == ([1], 2)


def test_what_asks_nothing_of_a_user_is_kept_but_not_printed(stepscope: Command, tmp_path: Path) -> None:
    end = '{"ph": "f", "bp": "e", "cat": "fwdbwd", "id": 7, "name": "fwdbwd", "pid": 1, "tid": 1, "ts": 2}'
    trace = write_trace(tmp_path / "trace.json", [complete("aten::mm", "1.000", "5.000"), end])
    store = tmp_path / "store"
    shown = stepscope("sql", trace, QUERY, "--store", store)
    assert "points at no slice" not in shown.err
    document = json.loads(stepscope("sql", trace, QUERY, "--store", store, "--json").out)
    levels = {note["code"]: note["level"] for note in document["notes"]}
    assert levels == {"no_step_marks": "note", "flow_unbound": "info"}
    assert "points at no slice" in stepscope("ingest", trace, "--store", store, "--notes").err


def test_a_question_without_an_answer_repeats_no_notes_either(stepscope: Command, capture: Path) -> None:
    store = capture.parent / "store"
    first, again = (stepscope("memory", capture, "--store", store).err for _ in range(2))
    assert "no step marks" in first
    assert "no step marks" not in again
    assert "Notes on this capture (2) were shown when it was first read." in again
