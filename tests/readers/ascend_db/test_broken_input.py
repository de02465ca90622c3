"""Nothing that stands in a database does harm, and nothing of it is touched."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import polars as pl
import pytest

from readers.ascend_db.built_databases import fingerprints, read_file
from readers.ascend_db_builder import (
    NONE,
    NS,
    TABLES,
    Builder,
    Read,
    claimed,
    rank_directory,
    read_directory,
    small_run,
)
from stepscope.errors import UnreadableInputError
from stepscope.readers import ascend_db
from stepscope.texts import LANGUAGES
from support.limits import at_most


def test_unknown_task_types_are_counted_and_compute_only_if_described(tmp_path: Path) -> None:
    build = small_run()
    for number in (70, 71, 72):
        build.task(number, 8000 + number, 8001 + number, "ZEBRA")
    build.kernel(72, "Striped", "N/A", "Stripe")
    read = read_file(build, tmp_path)
    assert read.slices(name="ZEBRA")["kind"].to_list() == ["sync", "sync"]
    assert read.slices(name="Striped")["kind"].to_list() == ["kernel"]
    assert read.note("db_task_type_unknown", type="ZEBRA") == 3


def test_ids_without_a_text_are_shown_and_counted(tmp_path: Path) -> None:
    build = small_run()
    build.task(80, 8000, 8001, "KERNEL_AIVEC", taskType=987654)
    read = read_file(build, tmp_path)
    assert read.slices(name="?").height == 1
    assert read.note("db_text_missing") == 1


def test_texts_may_stand_where_ids_are_expected(tmp_path: Path) -> None:
    build = small_run()
    build.definitions["CANN_API"] = TABLES["CANN_API"].replace("name INTEGER", "name TEXT")
    build.rows["CANN_API"][0]["name"] = "spelled out"
    assert read_file(build, tmp_path).slices(name="Node@spelled out").height == 1


def test_times_that_cannot_be_true_are_dropped_and_counted(tmp_path: Path) -> None:
    build = small_run()
    build.task(90, 0, 0, "KERNEL_AIVEC", startNs=None)
    build.task(91, 0, 0, "KERNEL_AIVEC", startNs="soon", endNs=NS)
    build.task(92, 0, 0, "KERNEL_AIVEC", startNs=(1 << 63) - 1, endNs=(1 << 63) - 1)
    build.task(93, 0, 0, "KERNEL_AIVEC", startNs=5, endNs=9)
    build.task(94, 200, 100, "KERNEL_AIVEC")
    read = read_file(build, tmp_path)
    assert read.note("event_without_time") == 3
    assert read.note("event_far_away") == 1
    assert read.note("duration_negative") == 1
    assert read.slices(name="KERNEL_AIVEC").select("start_ns", "dur_ns").rows() == [(NS + 200, 0)]


# Files that are wrong, damaged or hostile
def test_what_is_no_database_is_refused_with_a_clear_sentence(tmp_path: Path) -> None:
    path = tmp_path / "ascend_pytorch_profiler_0.db"
    for content, code in ((b"", "empty_file"), (b"PK\3\4 a zip file, not a database", "db_not_sqlite")):
        path.write_bytes(content)
        [source] = claimed(tmp_path)
        assert source.completeness == 0
        with pytest.raises(UnreadableInputError) as error:
            Read(source, tmp_path / "out")
        assert error.value.code == code
        assert all(str(path) in error.value.message(language) for language in LANGUAGES)


def test_a_database_of_something_else_is_refused_by_naming_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "ascend_pytorch_profiler_0.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with pytest.raises(UnreadableInputError) as error:
        Read(claimed(tmp_path)[0], tmp_path / "out")
    assert error.value.code == "db_foreign_schema" and "recipes" in error.value.message()
    shutil.copy(path, tmp_path / "kitchen.db")
    assert ascend_db.claim_file(tmp_path / "kitchen.db", (tmp_path / "kitchen.db").read_bytes()[:100]) is None


def test_a_database_without_rows_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError) as error:
        read_file(Builder(), tmp_path)
    assert error.value.code == "db_without_data"


def test_a_damaged_summary_is_only_noted(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path / "capture", small_run())
    (directory / "ASCEND_PROFILER_OUTPUT" / "analysis.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    read = read_directory(directory, tmp_path / "out")
    assert read.note("db_file_unreadable") == 1
    assert read.slices(kind="kernel").height == 1


def test_rows_before_a_broken_page_are_kept(tmp_path: Path) -> None:
    build = small_run()
    for number in range(20_000):
        build.task(1000 + number, 10_000 + number * 10, 10_005 + number * 10, "KERNEL_AIVEC")
    path = build.write(tmp_path / "ascend_pytorch_profiler_0.db")
    data = bytearray(path.read_bytes())
    with sqlite3.connect(path) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        # The leaf page that holds the middle of the table: its first byte says so, and it holds that row's time.
        wanted = (NS + 10_000 + 10_000 * 10).to_bytes(8, "big")
    connection.close()
    place = data.find(wanted) // size * size
    data[place : place + size] = b"\xa5" * size
    path.write_bytes(data)
    read = Read(claimed(tmp_path)[0], tmp_path / "out")
    kept = read.slices(name="KERNEL_AIVEC").height
    assert 8_000 < kept < 12_000
    assert read.note("db_table_damaged", table="TASK") == 1
    assert read.slices(name="aten::mul").height == 1  # other tables are whole


def test_the_write_ahead_log_is_read_and_nothing_is_touched(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    path = small_run().write(capture / "ascend_pytorch_profiler_0.db")
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("PRAGMA wal_autocheckpoint=0")
    text = dict(writer.execute("SELECT value, id FROM STRING_IDS"))["Mul1"]
    writer.execute(f"INSERT INTO TASK VALUES ({NS}, {NS + 5}, 0, 99, 500, 1, {text}, {NONE}, 2, 500, 0)")
    writer.commit()
    # As a killed process leaves it: the row is in the log only.
    killed = tmp_path / "killed"
    shutil.copytree(capture, killed)
    writer.close()
    before = fingerprints(killed)
    [source] = claimed(killed)
    assert any(file.name.endswith("-wal") for file in source.files)
    read = Read(source, tmp_path / "out")
    assert read.slices(name="Mul1").height == 2
    assert fingerprints(killed) == before


def test_reading_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path / "capture", small_run())
    with sqlite3.connect(directory / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db") as connection:
        connection.execute("PRAGMA journal_mode=WAL")  # closed cleanly: the file says WAL, but no log is there
    connection.close()
    before = fingerprints(directory)
    read_directory(directory, tmp_path / "out")
    assert fingerprints(directory) == before


def test_a_rollback_journal_is_noted_and_never_played_back(tmp_path: Path) -> None:
    path = small_run().write(tmp_path / "ascend_pytorch_profiler_0.db")
    path.with_name(path.name + "-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 600)
    before = fingerprints(tmp_path)
    read = Read(claimed(tmp_path)[0], tmp_path.parent / "out")
    assert read.note("db_journal_beside") == 1
    assert fingerprints(tmp_path) == before


def test_views_and_computed_columns_are_never_evaluated(tmp_path: Path) -> None:
    build = small_run()
    endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT"
    del build.definitions["MSTX_EVENTS"], build.definitions["GC_RECORD"], build.rows["STEP_TIME"]
    build.definitions["STEP_TIME"] = (
        "id INTEGER, startNs INTEGER, endNs INTEGER GENERATED ALWAYS AS (startNs + 5) VIRTUAL"
    )
    build.add("STEP_TIME", id=1, startNs=NS)
    build.extra = [
        f"CREATE VIEW MSTX_EVENTS AS {endless} x AS startNs, x AS endNs FROM t",
        f"CREATE VIEW GC_RECORD AS {endless} x AS startNs, x AS endNs FROM t",
        "CREATE VIEW HBM_SHADOW AS SELECT * FROM MSTX_EVENTS",
        "CREATE TRIGGER trap AFTER INSERT ON TASK BEGIN DELETE FROM TASK; END",
    ]
    with at_most(10):
        read = read_file(build, tmp_path)
    assert read.note("db_table_is_view") == 2
    assert read.slices(kind="kernel").height == 1
    assert read.note("db_rows_empty", table="STEP_TIME") == 1


def test_very_long_texts_are_cut(tmp_path: Path) -> None:
    build = small_run()
    build.task(95, 8000, 8100, "x" * 3_000_000)
    read = read_file(build, tmp_path)
    assert read.note("db_text_cut", table="STRING_IDS") == 1
    longest = read.table("slices")["name"].cast(pl.String).str.len_bytes().max()
    assert longest == 1 << 20


def test_a_table_cannot_have_more_rows_than_its_file_has_room_for(tmp_path: Path) -> None:
    # A directory page whose entries all point to one leaf multiplies that leaf's rows.
    path = tmp_path / "ascend_pytorch_profiler_0.db"
    build = small_run()
    for number in range(40_000):
        build.task(1000 + number, number, number + 1, "KERNEL_AIVEC")
    build.write(path)
    data = bytearray(path.read_bytes())
    with sqlite3.connect(path) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'TASK'").fetchone()[0]
    connection.close()
    start = (root - 1) * size
    assert data[start] == 5  # an interior page
    cells = int.from_bytes(data[start + 3 : start + 5], "big")
    places = [int.from_bytes(data[start + 12 + 2 * n : start + 14 + 2 * n], "big") for n in range(cells)]
    for place in places:
        data[start + place : start + place + 4] = root.to_bytes(4, "big")  # each child is the page itself
    path.write_bytes(data)
    with at_most(20):
        read = Read(claimed(tmp_path)[0], tmp_path / "out")
    assert read.note("db_table_damaged", table="TASK") == 1


def test_odd_names_of_files_and_folders_are_opened(tmp_path: Path) -> None:
    path = small_run().write(tmp_path / "a %20 ?mode=rwc#é 数据" / "ascend_pytorch_profiler_0.db")
    [source] = claimed(path.parent)
    assert Read(source, tmp_path / "out").slices(kind="kernel").height == 1
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_database_cut_anywhere_gives_rows_or_a_clear_error(tmp_path: Path) -> None:
    build = small_run()
    build.add("AICORE_FREQ", deviceId=0, timestampNs=NS, freq=1800)
    whole = build.write(tmp_path / "whole" / "ascend_pytorch_profiler_0.db").read_bytes()
    for number, length in enumerate(range(1, len(whole), len(whole) // 40)):
        _survives(whole[:length], tmp_path / f"cut{number}")


def test_a_database_changed_at_random_gives_rows_or_a_clear_error(tmp_path: Path) -> None:
    build = small_run()
    whole = build.write(tmp_path / "whole" / "ascend_pytorch_profiler_0.db").read_bytes()
    chance = random.Random(20250109)
    for number in range(30):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 5, 50, 500))):
            data[chance.randrange(100, len(data))] = chance.randrange(256)
        _survives(bytes(data), tmp_path / f"changed{number}")


def test_cells_of_any_type_are_survived(tmp_path: Path) -> None:
    chance = random.Random(7)
    odd = (None, -1, 0, 1 << 62, -(1 << 63), 1.5e300, float("inf"), "", "text", b"\xff\xfe", "9" * 40, NONE)
    for number in range(12):
        build = small_run()
        build.add("HBM", deviceId=0, timestampNs=NS, bandwidth=1, hbmId=0, type=build.text["read"])
        build.add("OP_MEMORY", name=build.text["x"], size=1, allocationTime=NS, streamPtr=1, deviceId=0)
        build.add("NPU_MODULE_MEM", moduleId=3, timestampNs=NS, totalReserved=1, deviceId=0)
        for table, rows in build.rows.items():
            build.definitions[table] = TABLES[table].replace(" PRIMARY KEY", "").replace("INTEGER", "BLOB")
            for row in rows:
                for column in row:
                    if chance.random() < 0.15:
                        row[column] = chance.choice(odd)
        _survives(build.write(tmp_path / f"{number}.db").read_bytes(), tmp_path / f"odd{number}")


def _survives(content: bytes, folder: Path) -> None:
    path = folder / "ascend_pytorch_profiler_0.db"
    path.parent.mkdir()
    path.write_bytes(content)
    try:
        for source in claimed(path.parent):
            Read(source, folder / "out")
    except UnreadableInputError as error:
        assert error.message("zh")
    assert path.read_bytes() == content


def test_every_note_has_its_sentence_in_both_languages(run: Read) -> None:
    for note in run.notes:
        assert all(note.sentence(language) for language in LANGUAGES)
