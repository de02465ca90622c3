"""Files of msleaks, and what editors make of a csv."""

from __future__ import annotations

from pathlib import Path

from readers.msmemscope.opened_dumps import Read, block_rows
from readers.msmemscope_builder import HEADER, write_csv


def test_an_old_msleaks_file_of_two_processes(tmp_path: Path) -> None:
    text = (
        ",".join(HEADER[:10]) + "\n"
        "1,SYSTEM,acl init,N/A,1746006014162153,11,11,N/A,N/A,\n"
        '2,MALLOC,HAL,N/A,1746006014361575,11,11,0,20615843020800,"{addr:20615843020800,size:16384,owner:,MID:7}"\n'
        '3,MALLOC,HAL,N/A,1746006014362653,11,11,host,20617990504448,"{addr:20617990504448,size:6356992,owner:,MID:7}"\n'
        "1,SYSTEM,acl init,N/A,1746006014418150,12,12,N/A,N/A,\n"
        '2,MALLOC,HAL,N/A,1746006014620278,12,12,0,20615843020800,"{addr:20615843020800,size:16384,owner:,MID:33}"\n'
        '4,FREE,HAL,N/A,1746006014720278,12,12,0,20615843020800,"{addr:20615843020800,size:16384,owner:,MID:33}"\n'
    )
    path = tmp_path / "leaks_dump_20250428.csv"
    path.write_text(text)
    found = Read(path, tmp_path)
    rows = [
        (row["device"], row["address"], row["bytes"], row["alloc_ns"], row["free_ns"], row["category"])
        for row in found.rows("allocations")
    ]
    assert sorted(rows, key=lambda row: row[3]) == [
        ("npu:0", 20615843020800, 16384, 1746006014361575000, None, "MID 7"),
        ("cpu", 20617990504448, 6356992, 1746006014362653000, None, "MID 7"),
        ("npu:0", 20615843020800, 16384, 1746006014620278000, 1746006014720278000, "MID 33"),
    ]
    assert found.notes["msmemscope_microseconds"] == 1
    assert [row["name"] for row in found.rows("slices")] == ["ACL_INIT", "ACL_INIT"]
    # Both processes count from 1, so the order is made from time.
    assert sorted(row["alloc_seq"] for row in found.rows("allocations")) == [1, 2, 4]


def test_windows_line_ends_a_byte_order_mark_and_new_columns(tmp_path: Path) -> None:
    plain = write_csv(tmp_path / "memscope_dump_1.csv", block_rows())
    lines = plain.read_text().splitlines()
    widened = [lines[0] + ",Node Id"] + [line + ",7" for line in lines[1:]]
    other = tmp_path / "memscope_dump_2.csv"
    other.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(widened).encode())
    expected, found = Read(plain, tmp_path), Read(other, tmp_path)
    assert found.tables["allocations"].equals(expected.tables["allocations"])
    assert found.tables["memory"].equals(expected.tables["memory"])
    assert found.notes["msmemscope_column_ignored"] == 1
