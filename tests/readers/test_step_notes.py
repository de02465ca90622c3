"""Captures without steps: the advice is one that its writer can follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from readers.ascend_db_builder import Builder, Read, small_run
from stepscope.readers import ascend_db, minddata
from stepscope.readers.files.reading import Reading
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter


def without_steps(build: Builder) -> Builder:
    del build.rows["STEP_TIME"]
    build.rows["PYTORCH_API"] = []
    return build


def read_database(path: Path, out: Path) -> Read:
    source = ascend_db.claim_file(path, path.read_bytes()[:100])
    assert source is not None
    return Read(source, out)


@pytest.mark.parametrize(
    ("name", "tables_of_pytorch", "note"),
    [
        ("ascend_pytorch_profiler_0.db", True, "no_step_marks"),
        ("ascend_mindspore_profiler_0.db", False, "no_steps_in_database"),
    ],
)
def test_a_database_of_mindspore_has_no_place_for_steps(
    name: str, tables_of_pytorch: bool, note: str, tmp_path: Path
) -> None:
    build = without_steps(small_run())
    added = () if tables_of_pytorch else ("PYTORCH_API", "PYTORCH_CALLCHAINS", "CONNECTION_IDS", "STEP_TIME")
    only = [table for table in build.definitions if table not in added]
    read = read_database(build.write(tmp_path / name, only=only), tmp_path / "out")
    assert read.table("steps")["marks_from"].to_list() == ["window"]
    assert {code: read.note(code) for code in ("no_step_marks", "no_steps_in_database")} == {
        "no_step_marks": 0,
        "no_steps_in_database": 0,
    } | {note: 1}


def test_pipeline_files_alone_cannot_tell_steps(tmp_path: Path) -> None:
    (tmp_path / "minddata_aicpu_0.txt").write_text("GetNext_dequeue_wait 154907895305 154907895306 3\n")
    claimed = minddata.claim(tmp_path, [], ["minddata_aicpu_0.txt"])
    assert claimed
    notes = Notes()
    minddata.read(Reading(claimed[0], RankWriter(tmp_path / "out", 0), notes))
    assert [note.code for note in notes.all()] == ["no_steps_in_files"]
