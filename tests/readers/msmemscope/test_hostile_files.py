"""Cut, damaged and absurd dumps never end in a traceback."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from readers.msmemscope.opened_dumps import A, B, Read, everything
from readers.msmemscope_builder import HEADER, Row, T, csv_text, malloc, write_csv, write_db
from stepscope.errors import UnreadableInputError
from stepscope.readers.msmemscope import dump_file


def test_small_pieces_give_the_same_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_csv(tmp_path / "memscope_dump_1.csv", everything() * 3)
    expected = Read(path, tmp_path)
    raw = path.read_bytes()
    for size in (97, 500, 1000):
        monkeypatch.setattr(
            dump_file, "blocks", lambda *_, size=size: (raw[at : at + size] for at in range(0, len(raw), size))
        )
        found = Read(path, tmp_path)
        for name in expected.tables:
            assert found.tables[name].equals(expected.tables[name]), name


def test_names_with_bare_commas_and_quotes(tmp_path: Path) -> None:
    lines = csv_text(
        [Row(1, "SNAPSHOT", "SNAPSHOT", "a, b, c", 5, attr="{reserved:2,allocated:1}"), malloc(3, 10, A, 512)]
    ).splitlines()
    lines.insert(2, f'2,MSTX,Mark,"say "hi" twice",{T + 6},100,100,0,N/A,,,')
    path = tmp_path / "memscope_dump_1.csv"
    path.write_text("\n".join(lines) + "\n")
    found = Read(path, tmp_path)
    assert [row["allocated"] for row in found.rows("memory", component="PTA snapshot")] == [1]
    assert len(found.rows("allocations")) == 1
    assert len(found.rows("slices", kind="mark")) == 1


def test_a_quote_that_never_ends_costs_rows_but_not_the_file(tmp_path: Path) -> None:
    rows = [malloc(n, n, A + 512 * n, 512) for n in range(1, 200)]
    lines = csv_text(rows).splitlines()
    lines[50] = lines[50].replace('}"', "}")
    path = tmp_path / "memscope_dump_1.csv"
    path.write_text("\n".join(lines) + "\n")
    found = Read(path, tmp_path)
    assert len(found.rows("allocations")) > 40


@pytest.mark.parametrize("missing", HEADER)
def test_a_missing_column_does_no_harm(missing: str, tmp_path: Path) -> None:
    place = HEADER.index(missing)
    path = tmp_path / "memscope_dump_1.csv"
    rows = csv_text([Row(1, "SYSTEM", "ACL_INIT", time=5), Row(2, "MSTX", "Mark", "m", 6)]).splitlines()
    path.write_text(
        "\n".join(",".join(part for at, part in enumerate(line.split(",")) if at != place) for line in rows) + "\n"
    )
    try:
        Read(path, tmp_path)
    except UnreadableInputError as error:
        assert missing in ("Event", "Name")
        assert error.code == "msmemscope_no_header"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"\x00" * 1000,
        b"ID,Event\n1,2\n",
        ",".join(HEADER).encode(),
        ",".join(HEADER).encode() + b"\n",
        ",".join(HEADER).encode() + b"\n" + b"," * 5000 + b"\n",
        ",".join(HEADER).encode() + b'\n"' + b"x" * 100_000,
        random.Random(3).randbytes(3000),
    ],
    ids=range(9),
)
def test_files_without_rows_are_refused_clearly(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "memscope_dump_1.csv"
    path.write_bytes(raw)
    try:
        found = Read(path, tmp_path)
        assert not found.rows("allocations")
    except UnreadableInputError as error:
        assert error.message("zh")
    assert path.read_bytes() == raw


def test_absurd_numbers_do_no_harm(tmp_path: Path) -> None:
    big = 10**30
    rows = [
        malloc(1, 10, 2**64 - 1, big),
        malloc(2, 20, 2**63 - 1, -5),
        malloc(3, 10**25, A, 512),
        Row(4, "MALLOC", "PTA", "", 30, ptr="-1", attr="{size:512}"),
        malloc(big, 40, B, 512, pid=big, tid=-7, device=99999),
        Row(5, "SNAPSHOT", "SNAPSHOT", "s", 50, attr=f"{{reserved:{big},allocated:-1,total:x,free:nan}}"),
        Row(6, "SYSTEM", "STEP", str(big), 60),
        Row(7, "SYSTEM", "STEP", "one", 70),
        Row(8, "KERNEL_LAUNCH", "KERNEL_EXECUTE_START", "k", 80, attr=f"{{streamId:{big},taskId:-1}}"),
        Row(9, "WHATEVER", "X", "y", 90),
    ]
    found = Read(write_csv(tmp_path / "memscope_dump_1.csv", rows), tmp_path)
    assert found.notes["msmemscope_event_unknown"] == 1
    assert found.notes["event_without_time"] == 1
    assert found.notes["memory_event_incomplete"] == 2  # addresses past 63 bits and below 0


@pytest.mark.parametrize("form", ["csv", "db"])
def test_dumps_cut_anywhere_never_end_in_a_traceback(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"memscope_dump_1.{form}"
    (write_csv if form == "csv" else write_db)(path, everything())
    raw = path.read_bytes()
    for number, cut in enumerate(range(0, len(raw), max(1, len(raw) // 60))):
        path.write_bytes(raw[:cut])
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            Read(path, folder)
        except UnreadableInputError as error:
            assert error.message()


@pytest.mark.parametrize("form", ["csv", "db"])
def test_damaged_dumps_never_end_in_a_traceback(form: str, tmp_path: Path) -> None:
    chance = random.Random(form)
    path = tmp_path / f"memscope_dump_1.{form}"
    (write_csv if form == "csv" else write_db)(path, everything())
    raw = path.read_bytes()
    for number in range(60):
        broken = bytearray(raw)
        for _ in range(chance.randint(1, 30)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        path.write_bytes(broken)
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            Read(path, folder)
        except UnreadableInputError as error:
            assert error.message()
        assert path.read_bytes() == bytes(broken)
