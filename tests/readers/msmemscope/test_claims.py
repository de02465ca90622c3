"""Which files and directories are dumps."""

from __future__ import annotations

import json
from pathlib import Path

from readers.msmemscope.opened_dumps import A, B, Read
from readers.msmemscope_builder import TRACE_HEADER, T, malloc, write_csv, write_db
from stepscope.readers import msmemscope
from stepscope.readers.discovery.source import Source


def walk(directory: Path) -> list[Source] | None:
    folders = [path.name for path in directory.iterdir() if path.is_dir()]
    return msmemscope.claim(directory, folders, [path.name for path in directory.iterdir() if path.is_file()])


def test_the_results_of_many_processes_are_one_source_per_device(tmp_path: Path) -> None:
    root = tmp_path / "memscopeDumpResults"
    for rank, pid in ((0, 11), (1, 12)):
        process = root / f"msmemscope_{pid}_2025112510301{rank}_ascend"
        write_csv(process / f"device_{rank}" / "dump" / "memscope_dump_1.csv", [malloc(1, 10, A, 512)])
        (process / "config.json").write_text('{"events": ["alloc", "free"]}')
    write_csv(
        root / "msmemscope_11_20251125103010_ascend" / "device_cpu" / "dump" / "memscope_dump_2.csv",
        [malloc(2, 20, B, 64, "HOST_PINNED", ",pinned:true", device="cpu")],
    )
    trace = root / "msmemscope_11_20251125103010_ascend" / "device_0" / "dump" / "python_trace_11_1.csv"
    trace.write_text(",".join(TRACE_HEADER) + f"\nf,{T},{T + 5},1,11\n")
    (root / "compare").mkdir()
    found = walk(root)
    assert found is not None
    assert [(source.rank, source.path.name, source.worker, source.form) for source in found] == [
        (0, "device_0", "11", "text"),
        (1, "device_1", "12", "text"),
    ]
    assert [file.name for file in found[0].files] == [
        "memscope_dump_1.csv",
        "memscope_dump_2.csv",
        "python_trace_11_1.csv",
        "config.json",
    ]
    first = Read(found[0], tmp_path)
    assert [(row["device"], row["bytes"]) for row in first.rows("allocations")] == [("npu:0", 512), ("cpu", 64)]
    assert json.loads(first.rows("ranks")[0]["switches"]) == {"events": ["alloc", "free"]}
    assert [source.rank for source in walk(root / "msmemscope_12_20251125103011_ascend") or []] == [1]


def test_older_layouts_are_found(tmp_path: Path) -> None:
    dump = write_csv(tmp_path / "leaksDumpResults" / "dump" / "leaks_dump_1.csv", [malloc(1, 10, A, 512)])
    found = walk(tmp_path / "leaksDumpResults")
    assert found is not None
    assert [source.files for source in found] == [(dump,)]
    assert [source.files for source in walk(dump.parent) or []] == [(dump,)]


def test_a_dump_in_both_forms_gives_both(tmp_path: Path) -> None:
    write_csv(tmp_path / "memscope_dump_1.csv", [malloc(1, 10, A, 512)])
    write_db(tmp_path / "memscope_dump_1.db", [malloc(1, 10, A, 512)])
    assert [source.form for source in walk(tmp_path) or []] == ["text", "db"]


def test_other_directories_are_left_alone(tmp_path: Path) -> None:
    assert walk(tmp_path) is None
    (tmp_path / "device_0").mkdir()
    assert walk(tmp_path) is None
    (tmp_path / "trace.json").write_text("{}")
    write_csv(tmp_path / "memscope_dump_1.csv", [malloc(1, 10, A, 512)])
    assert walk(tmp_path) is None


def test_a_single_file_is_known_by_what_it_holds(tmp_path: Path) -> None:
    plain = write_csv(tmp_path / "device_3" / "dump" / "renamed.csv", [malloc(1, 10, A, 512)])
    claimed = msmemscope.claim_file(plain, plain.read_bytes()[:1000])
    assert claimed is not None
    assert (claimed.rank, claimed.form) == (3, "text")
    base = write_db(tmp_path / "renamed.bin", [malloc(1, 10, A, 512)])
    claimed = msmemscope.claim_file(base, base.read_bytes()[:1000])
    assert claimed is not None
    assert claimed.form == "db"
    assert msmemscope.claim_file(plain, b"Name,Size(KB),Allocation Time(us)\n1,2,3\n") is None
    assert msmemscope.claim_file(plain, b"") is None
    assert msmemscope.claim_file(plain, b"SQLite format 3\0" + bytes(100)) is None
