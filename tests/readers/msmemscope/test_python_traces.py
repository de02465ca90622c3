"""Python functions, beside a dump, inside a database and alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from readers.msmemscope.opened_dumps import A, Read
from readers.msmemscope_builder import TRACE_HEADER, T, malloc, write_csv, write_db
from stepscope.readers import msmemscope
from stepscope.readers.discovery.source import Source


def functions() -> list[tuple[Any, ...]]:
    return [
        ("train.py(5): step", T + 10, T + 90, 100, 100),
        ("net.py(7): forward", T + 20, T + 60, 100, 100),
        ("open", T + 30, "N/A", 100, 100),
        ("returned only", "N/A", T + 40, 100, 100),
    ]


def check_functions(found: Read) -> None:
    rows = found.rows("slices", kind="python")
    assert {row["name"]: (row["start_ns"] - T, row["dur_ns"]) for row in rows} == {
        "train.py(5): step": (10, 80),
        "net.py(7): forward": (20, 40),
        "open": (30, 60),
    }
    assert (found.notes["begin_without_end"], found.notes["end_without_begin"]) == (1, 1)


def test_python_traces_beside_a_dump(tmp_path: Path) -> None:
    dump = write_csv(tmp_path / "memscope_dump_1.csv", [malloc(1, 10, A, 512)])
    trace = tmp_path / "python_trace_100_1.csv"
    lines = [
        ",".join(TRACE_HEADER),
        *(",".join(map(str, row)) for row in functions()),
        f"f(a, b),{T + 1},{T + 2},200,100",
    ]
    trace.write_text("\n".join(lines) + "\n")
    found = Read(Source(dump, "msmemscope", 0, (dump, trace)), tmp_path)
    (comma,) = found.rows("slices", name="f(a, b)")
    assert comma["dur_ns"] == 1
    found.tables["slices"] = found.tables["slices"].filter(pl.col("slice") != comma["slice"])
    check_functions(found)
    assert len(found.rows("allocations")) == 1


def test_python_traces_inside_a_database(tmp_path: Path) -> None:
    path = write_db(tmp_path / "memscope_dump_1.db", [malloc(1, 10, A, 512)], functions=functions())
    check_functions(Read(path, tmp_path))


def test_a_python_trace_alone(tmp_path: Path) -> None:
    path = tmp_path / "python_trace_1_2.csv"
    path.write_text(",".join(TRACE_HEADER) + f"\nf,{T},{T + 5},1,1\n")
    claimed = msmemscope.claim_file(path, path.read_bytes())
    assert claimed is not None
    assert [row["name"] for row in Read(claimed, tmp_path).rows("slices")] == ["f"]
