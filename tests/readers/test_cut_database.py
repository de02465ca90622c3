"""Databases that were cut off: all before the cut is read, nothing is made up, and what is lost is named.

What must come is told by a reader of pages of its own, made after the published file format: the rows of a table are
the cells of its leaves in order, up to the first page that is not there whole.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readers.ascend_builder import capture_events
from readers.ascend_db_builder import NS, Builder, Read, claimed, rank_directory, small_run
from stepscope.errors import UnreadableInputError
from stepscope.readers import ascend_text
from stepscope.readers.sqlite.opening import open_database
from stepscope.store.notes import Notes
from stepscope.texts import LANGUAGES

PAGE = 1024
LEAF, INNER = 13, 5
Rows = list[tuple[Any, ...]]


def a_run_of_many_pages() -> Builder:
    """Tables that grow by turns, so that their pages lie mixed, and an index that is written last."""
    build = small_run()
    for turn in range(6):
        for number in range(40):
            start = 10_000 + 1_000 * (40 * turn + number)
            build.task(100 + 40 * turn + number, start, start + 500, "AI_CORE", 100 + number)
        for number in range(60):
            build.python(100_000 * turn + 10 * number, 100_000 * turn + 10 * number + 5, f"aten::op{turn}_{number}")
    build.extra = ["CREATE INDEX TaskIndex ON TASK (startNs, globalTaskId)"]
    return build


def write_in_turns(path: Path) -> bytes:
    """The database with small pages; rows of all tables are inserted by turns, not table by table."""
    build = a_run_of_many_pages()
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as empty:
        empty.execute(f"PRAGMA page_size={PAGE}")
        empty.execute("VACUUM")
    empty.close()
    rows = {table: build.rows.pop(table) for table in ("TASK", "PYTORCH_API")}
    shares = [len(rows[table]) // 6 + 1 for table in rows]
    extra, build.extra = build.extra, []
    build.write(path)
    with sqlite3.connect(path) as connection:
        for turn in range(6):
            for (table, all_rows), share in zip(rows.items(), shares, strict=True):
                for row in all_rows[share * turn : share * (turn + 1)]:
                    names, marks = ", ".join(row), ", ".join("?" * len(row))
                    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
        for statement in extra:
            connection.execute(statement)
    connection.close()
    return path.read_bytes()


def cells_before(data: bytes, root: int, whole: int) -> tuple[int, bool]:
    """Rows of a table that lie before the first missing page, and whether that is all of them."""
    if root > whole:
        return 0, False
    page = data[(root - 1) * PAGE : root * PAGE]
    head = 100 if root == 1 else 0
    count = int.from_bytes(page[head + 3 : head + 5], "big")
    if page[head] == LEAF:
        return count, True
    assert page[head] == INNER
    places = [int.from_bytes(page[at : at + 2], "big") for at in range(head + 12, head + 12 + 2 * count, 2)]
    children = [int.from_bytes(page[at : at + 4], "big") for at in places]
    rows = 0
    for child in (*children, int.from_bytes(page[head + 8 : head + 12], "big")):
        more, is_all = cells_before(data, child, whole)
        rows += more
        if not is_all:
            return rows, False
    return rows, True


def truth_of(path: Path) -> dict[str, tuple[int, Rows]]:
    """Root page and rows of all tables, in the order of the list of tables."""
    with sqlite3.connect(path) as connection:
        listed = connection.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table'").fetchall()
        truth = {name: (root, connection.execute(f'SELECT * FROM "{name}"').fetchall()) for name, root in listed}
    connection.close()
    return truth


def cuts(size: int) -> Iterator[int]:
    yield from range(0, size, 1511)
    for page in range(PAGE, size, PAGE):
        yield from (page - 1, page, page + 1)


def test_a_cut_at_any_byte_gives_the_rows_before_it_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "whole" / "ascend_pytorch_profiler_0.db"
    data, truth = write_in_turns(path), truth_of(path)
    assert len(data) // PAGE > 60
    complete = cells_before(data, truth["TASK"][0], len(data) // PAGE)
    assert complete == (len(truth["TASK"][1]), True) == (246, True)
    with sqlite3.connect(path) as connection:
        in_order = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    connection.close()
    cut = tmp_path / "cut.db"
    opened, partly = 0, set()
    for length in cuts(len(data)):
        cut.write_bytes(data[:length])
        listed = in_order[: cells_before(data, 1, length // PAGE)[0]]
        expected = {name: cells_before(data, root, length // PAGE) for name, (root, _) in truth.items()}
        notes = Notes()
        try:
            with open_database(cut, notes) as database:
                assert listed
                opened += 1
                assert list(database.tables) == [name for name in listed if name in truth]
                for name in database.tables:
                    columns = list(database.columns(name).values())
                    got = database.frame(name, texts=columns).rows()
                    wanted, is_all = expected[name]
                    assert len(got) == wanted
                    assert got == [tuple(map(_text, row)) for row in truth[name][1][:wanted]]
                    if not is_all:
                        _is_named(name, wanted, notes)
                        partly |= {name} if wanted else set()
        except UnreadableInputError as error:
            assert all(error.message(lang) for lang in LANGUAGES)
            assert not any(expected[name][0] for name in listed if name in truth)
    assert opened > 150
    assert partly >= {"TASK", "PYTORCH_API", "STRING_IDS"}
    assert sorted(path.parent.iterdir()) == [path]


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _is_named(table: str, rows: int, notes: Notes) -> None:
    found = {note.code: note for note in notes.all()}
    assert found.keys() & {"db_cut", "db_damaged_in_part"}
    if rows:
        assert any(
            note.code == "db_table_damaged" and note.params == {**note.params, "table": table, "rows": rows}
            for note in notes.all()
        )
    else:
        assert table in found["db_tables_lost"].params["tables"].split(", ")
    assert all(note.sentence(lang) for note in notes.all() for lang in LANGUAGES)


def test_a_capture_whose_database_is_cut_anywhere_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path / "run", a_run_of_many_pages(), 0)
    path = directory / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"
    path.unlink()
    data = write_in_turns(path)
    whole = _times(Read(claimed(directory)[0], tmp_path / "store"))
    read: list[int] = []
    for number, length in enumerate(sorted(random.Random(4).sample(range(len(data)), 30))):
        path.write_bytes(data[:length])
        [source] = claimed(directory)
        try:
            times = _times(Read(source, tmp_path / f"store{number}"))
        except UnreadableInputError:
            assert not read, "what a shorter file gives, a longer one gives too"
            continue
        read.append(len(times))
        assert times <= whole
    assert len(read) > 20
    assert read == sorted(read)


def _times(read: Read) -> set[tuple[int, int]]:
    slices = read.table("slices")
    return set(slices.select("start_ns", "dur_ns").iter_rows())


def test_tables_beyond_the_cut_are_named_and_the_recording_is_not_blamed(tmp_path: Path) -> None:
    build = small_run()
    for _ in range(2000):
        build.add("TASK_PMU_INFO", globalTaskId=10, name=build.text["aic_total_time"], value=1500)
    directory = rank_directory(tmp_path, build, 0)
    path = directory / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"
    data = path.read_bytes()
    size = int.from_bytes(data[16:18], "big")
    root = data[(truth_of(path)["TASK_PMU_INFO"][0] - 1) * size :]
    first = int.from_bytes(root[12:14], "big")  # place of the entry that names the first of its pages
    kept = size * (int.from_bytes(root[first : first + 4], "big") - 1)
    path.write_bytes(data[:kept])
    read = Read(claimed(directory)[0], tmp_path / "store")
    assert read.note("db_cut", found=kept, stated=len(data)) == 1
    [lost] = [note for note in read.notes if note.code == "db_tables_lost"]
    assert "TASK_PMU_INFO" in lost.params["tables"].split(", ")
    assert "TASK" not in lost.params["tables"].split(", ")
    assert read.note("db_table_missing", table="TASK_PMU_INFO") == 0
    assert {(NS + 3000, 1000), (NS + 4000, 500)} <= _times(read)


def test_a_whole_text_is_preferred_to_a_cut_database_and_the_cut_is_reported(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path, small_run(), 0)
    output = directory / "ASCEND_PROFILER_OUTPUT"
    path = output / "ascend_pytorch_profiler_0.db"
    (output / "trace_view.json").write_text(json.dumps(capture_events()))
    (output / "step_trace_time.csv").write_text("Step,Computing\n1,5.0\n")
    [whole] = claimed(directory)
    [text] = claimed(directory, ascend_text)
    assert whole.completeness > text.completeness
    assert Read(text, tmp_path / "beside_whole", ascend_text).note("db_beside_cut") == 0
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 9 // 10])
    [cut] = claimed(directory)
    assert cut.completeness < text.completeness
    read = Read(text, tmp_path / "beside_cut", ascend_text)
    assert read.note("db_beside_cut", found=len(data) * 9 // 10, stated=len(data)) == 1


def test_a_file_that_ends_within_its_first_page_is_refused_with_its_length(tmp_path: Path) -> None:
    path = small_run().write(tmp_path / "ascend_pytorch_profiler_0.db")
    path.write_bytes(path.read_bytes()[:1540])
    with pytest.raises(UnreadableInputError) as refused, open_database(path, Notes()):
        pass
    assert refused.value.code == "db_cut_at_start"
    assert "1,540" in refused.value.message("en") and "1,540" in refused.value.message("zh")


def test_a_summary_that_is_cut_is_not_called_missing(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path, small_run(), 0)
    path = directory / "ASCEND_PROFILER_OUTPUT" / "analysis.db"
    build = Builder()
    build.add("StepTraceTime", step="1", computing=1.0)
    for _ in range(400):
        build.add("CommAnalyzerTime", hccl_op_name="a", group_name="g", step="1")
    build.write(path, only=["StepTraceTime", "CommAnalyzerTime"])
    read = Read(claimed(directory)[0], tmp_path / "whole")
    assert read.note("db_summary_missing") == 0
    path.write_bytes(path.read_bytes()[:12500])
    read = Read(claimed(directory)[0], tmp_path / "cut")
    assert read.note("db_cut") == 1
    assert read.note("db_summary_missing") == 0
