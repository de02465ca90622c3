"""A dump as a database gives what its text gives."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from readers.msmemscope.opened_dumps import A, B, Read, everything
from readers.msmemscope_builder import malloc, write_csv, write_db
from stepscope.errors import UnreadableInputError
from stepscope.readers import msmemscope


@pytest.mark.parametrize("table", ["memscope_dump", "leaks_dump"])
def test_a_database_gives_the_same_tables_as_text(table: str, tmp_path: Path) -> None:
    text = Read(write_csv(tmp_path / "memscope_dump_1.csv", everything()), tmp_path)
    database = Read(write_db(tmp_path / "leaks_dump_1.db", everything(), table), tmp_path)
    assert text.tables.keys() == database.tables.keys()
    for name in text.tables.keys() - {"ranks", "reported"}:
        assert database.tables[name].equals(text.tables[name]), name


def test_the_broken_json_of_early_databases_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    rows = [
        malloc(1, 10, A, 512, more=",total:1,used:512,owner:PTA@x,inefficient_type:early_allocation,late_deallocation")
    ]
    found = Read(write_db(tmp_path / "memscope_dump_1.db", rows), tmp_path)
    (block,) = found.rows("allocations")
    assert (block["bytes"], block["category"]) == (512, "PTA@x")


def test_rows_left_in_the_write_ahead_log_are_read_and_nothing_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    path = write_db(folder / "memscope_dump_1.db", [malloc(1, 10, A, 512)])
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("PRAGMA wal_autocheckpoint=0")
    other = write_db(tmp_path / "more.db", [malloc(2, 20, B, 1024)])
    writer.execute("ATTACH ? AS more", (str(other),))
    writer.execute("INSERT INTO main.memscope_dump SELECT * FROM more.memscope_dump")
    writer.commit()
    copied = tmp_path / "killed"  # as after a kill: the log is there, nobody has it open
    copied.mkdir()
    for file in folder.iterdir():
        if not file.name.endswith("-shm"):
            (copied / file.name).write_bytes(file.read_bytes())
    writer.close()
    before = {file.name: file.read_bytes() for file in copied.iterdir()}
    assert "memscope_dump_1.db-wal" in before
    claimed = msmemscope.claim(copied, [], list(before))
    assert claimed is not None
    assert sorted(row["bytes"] for row in Read(claimed[0], tmp_path).rows("allocations")) == [512, 1024]
    assert {file.name: file.read_bytes() for file in copied.iterdir()} == before


def test_a_database_that_ends_within_a_page_says_so(tmp_path: Path) -> None:
    """SQLite reads zeros for the end of a half page, and rows would be lost without a word."""
    path = write_db(tmp_path / "memscope_dump_1.db", [malloc(n, n, A + 512 * n, 512) for n in range(1, 300)])
    path.write_bytes(path.read_bytes()[:-40])
    found = Read(path, tmp_path)
    assert 0 < len(found.rows("allocations")) < 299
    assert found.notes["msmemscope_database_damaged"] == 1


def test_a_damaged_database_tells_and_keeps_what_it_could_read(tmp_path: Path) -> None:
    path = write_db(tmp_path / "memscope_dump_1.db", [malloc(n, n, A + 512 * n, 512) for n in range(1, 3000)])
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 9000] = bytes(9000)
    path.write_bytes(raw)
    try:
        found = Read(path, tmp_path)
        assert found.notes["msmemscope_database_damaged"] == 1
    except UnreadableInputError as error:
        assert error.code == "no_events"
    path.write_bytes(b"SQLite format 3\0" + random.Random(1).randbytes(5000))
    with pytest.raises(UnreadableInputError):
        Read(path, tmp_path)
