"""Cut, damaged and foreign files lose only what is wrong."""

from __future__ import annotations

import csv
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from readers.ascend_builder import (
    CALL,
    INFO,
    KERNELS,
    Tables,
    capture_events,
    claimed,
    full_capture,
    read_directory,
    write_rank,
)
from readers.ascend_text.small_captures import DETAILS, read
from stepscope.errors import UnreadableInputError
from stepscope.readers import ascend_text
from stepscope.readers.ascend import csv_table
from stepscope.readers.files import raw_bytes
from stepscope.readers.files.reading import Reading
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter


def digest(directory: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


MEMORY = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\r\nPTA,5.000\t,1,2,NPU:0\r\n"


BLOCKS = (
    "Name,Size(KB),Allocation Time(us),Release Time(us),Stream Ptr,Device Type\r\n"
    "aten::mm,1,5.000\t,6.000\t,7,NPU:0\r\n"
)


L2 = "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,1,N/A,0.25,MatMul\n"


def everything() -> dict[str, Any]:
    return full_capture() | {
        "memory_record.csv": MEMORY,
        "operator_memory.csv": BLOCKS,
        "operator_details.csv": DETAILS,
        "l2_cache.csv": L2,
        "../profiler_metadata.json": {"parallel_group_info": {"a%b": {"group_name": "dp", "global_ranks": [0, 1]}}},
    }


def read_unharmed(directory: Path, work: Path) -> Tables | None:
    """Read; the input must be untouched, and the only error is one with a sentence."""
    before = digest(directory)
    try:
        found: Tables | None = read_directory(directory, work)
        assert found is not None
        for note in found.notes.all():
            assert note.sentence("en")
            assert note.sentence("zh")
    except UnreadableInputError as error:
        assert error.message("en") != error.message("zh")
        found = None
    assert digest(directory) == before
    return found


@pytest.mark.parametrize("name", sorted(everything()))
def test_a_file_cut_anywhere_is_read_as_far_as_it_goes(tmp_path: Path, name: str) -> None:
    whole = everything()[name]
    text = (whole if isinstance(whole, str) else json.dumps(whole)).encode()
    cuts = sorted({0, 1, len(text) // 2, len(text) - 1, *random.Random(name).sample(range(len(text)), 4)})
    for cut in cuts:
        directory = write_rank(tmp_path / str(cut), everything() | {name: text[:cut]})
        found = read_unharmed(directory, tmp_path / f"store{cut}")
        assert found is not None
        if name != "trace_view.json":
            assert found["slices"].height == 21


@pytest.mark.parametrize("name", sorted(everything()))
def test_random_damage_never_raises(tmp_path: Path, name: str) -> None:
    whole = everything()[name]
    text = bytearray((whole if isinstance(whole, str) else json.dumps(whole)).encode())
    chance = random.Random(f"damage {name}")
    for attempt in range(6):
        damaged = bytearray(text)
        for _ in range(chance.randint(1, 30)):
            damaged[chance.randrange(len(damaged))] = chance.choice(b'\0",{}[]:\n\r\t\xff09.eE-')
        directory = write_rank(tmp_path / str(attempt), everything() | {name: bytes(damaged)})
        read_unharmed(directory, tmp_path / f"store{attempt}")


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\0", b"\xff\xfe\x00", b"null", b"[]", b"{}", b'"x"', b",,,\n,,,\n", b"a" * 5000]
)
def test_a_file_of_something_else_is_noted_or_read_as_empty(tmp_path: Path, content: bytes) -> None:
    more = ("step_trace_time.csv", "nic.csv", "npu_module_mem.csv", "../parallel_strategy_0.json")
    spoilt = dict.fromkeys([*everything(), *more], content)
    timeline = {"trace_view.json": capture_events()}
    found = read_unharmed(write_rank(tmp_path / "tables", spoilt | timeline), tmp_path / "tables" / "store")
    assert found is not None
    assert found["ranks"].height == 1
    assert found["slices"].height == 21
    found = read_unharmed(
        write_rank(tmp_path / "timeline", everything() | {"trace_view.json": content}), tmp_path / "timeline" / "store"
    )
    assert found is not None
    assert found["slices"].height == 3  # from the kernels


@pytest.mark.parametrize("value", [None, "x", [], {}, 1e400, -1, True, 10**30, "4294967295", "\ud800"])
def test_wrong_types_in_events_and_calls_lose_only_what_is_wrong(tmp_path: Path, value: Any) -> None:
    events = [
        {
            key: (dict.fromkeys(event["args"], value) if key == "args" else value if key in wrong else event[key])
            for key in event
        }
        for event in capture_events()
        for wrong in ((), ("ts",), ("dur",), ("tid",), ("pid",), ("name",), ("cat",), ("id",))
    ]
    call = {
        "Communication Time Info": dict.fromkeys(CALL["Communication Time Info"], value),
        "Communication Bandwidth Info": {"HCCS": value},
    }
    links = {"step7": {"collective": {"a-total@1": {"0-1": {"Transit Size(MB)": value}}}}, "x": {"p2p": {"b": {}}}}
    files = everything() | {
        "trace_view.json": json.dumps(capture_events() + events),
        "communication.json": json.dumps({"step7": {"collective": {"a@1": call}}}),
        "communication_matrix.json": json.dumps(links),
        "../profiler_info_0.json": {"rank_id": 0, "config": json.loads(json.dumps(value))} if value != 1e400 else INFO,
    }
    found = read_unharmed(write_rank(tmp_path, files), tmp_path / "store")
    assert found is not None
    assert found["slices"].filter(pl.col("name") == "MatMul").height >= 1


@pytest.mark.parametrize("value", ["x", "", "1e400", "-5", "9" * 40, "N/A", '"', "nan", "0x10"])
def test_wrong_cells_lose_only_themselves(tmp_path: Path, value: str) -> None:
    quoted = '"' + value.replace('"', '""') + '"'

    def spoilt(text: str) -> str:
        header, *rows = text.splitlines()
        cells = len(next(csv.reader([header])))
        return "\n".join([header, *rows, ",".join([quoted] * cells)]) + "\n"

    tables = {
        name: spoilt(text)
        for name, text in {
            "kernel_details.csv": KERNELS,
            "memory_record.csv": MEMORY,
            "operator_memory.csv": BLOCKS,
            "l2_cache.csv": L2,
            "step_trace_time.csv": "Step,Computing\n7,1\n",
            "npu_module_mem.csv": "Component,Timestamp(us),Total Reserved(MB),Device\nAPP,1.0,2,NPU:0\n",
            "nic.csv": "Timestamp(us),Bandwidth(MB/s),funcId\n1.0,2,0\n",
            "data_preprocess.csv": "Timestamp(us),Node,Compute_time(us),Stream ID,Task ID\n1,Cast,2,2,2\n",
        }.items()
    }
    found = read_unharmed(write_rank(tmp_path, everything() | tables), tmp_path / "store")
    assert found is not None
    assert found.slice("MatMul")["type"] == "MatMulV2"
    assert found["allocations"]["operator"].to_list()[0] == "aten::mm"
    assert found["memory"].height >= 2


@pytest.mark.parametrize("gone", range(21))
def test_missing_columns_are_survived(tmp_path: Path, gone: int) -> None:
    tables = {
        "kernel_details.csv": KERNELS,
        "memory_record.csv": MEMORY,
        "operator_memory.csv": BLOCKS,
        "l2_cache.csv": L2,
    }
    for name, text in tables.items():
        header = next(csv.reader([text.splitlines()[0]]))
        tables[name] = text.replace(header[gone % len(header)], "Gone", 1)
    found = read_unharmed(write_rank(tmp_path, everything() | tables), tmp_path / "store")
    assert found is not None
    assert found["slices"].height == 21


def test_a_directory_of_broken_files_says_so(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, {"trace_view.json": b"\0"})
    with pytest.raises(UnreadableInputError):
        read_directory(directory, tmp_path / "store")


def test_reading_twice_gives_the_same(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, everything())
    first, second = (read_directory(directory, tmp_path / f"store{place}") for place in range(2))
    assert first.frames.keys() == second.frames.keys()
    for table in first.frames:
        assert first[table].equals(second[table]), table


def test_large_tables_are_read_in_pieces_that_end_behind_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_table, "_PIECE_BYTES", 100)
    monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", 64)
    rows = "".join(f'op{place},"{place};\n{place}","f;\n""g""",1\n' for place in range(50))
    found = read(
        tmp_path,
        full_capture() | {"operator_details.csv": "Name,Input Shapes,Call Stack,Host Self Duration(us)\n" + rows},
    )
    counts = found["reported"].filter((pl.col("file") == "operator_details.csv") & (pl.col("metric") == "Count"))
    assert counts.height == 50
    assert counts["value"].sum() == 50
    assert found.slice("MatMul")["type"] == "MatMulV2"


def test_one_source_is_read_without_writing_into_it(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, everything())
    before = digest(directory)
    sources = claimed(directory)
    assert sources is not None
    seen: list[int] = []
    ascend_text.read(Reading(sources[0], RankWriter(tmp_path, 0), Notes(), seen.append))
    assert digest(directory) == before
    assert sum(seen) == sources[0].bytes


@pytest.mark.parametrize("blank", ["\r\n\r\n", "\n\n\n"])
def test_blank_lines_at_the_end_of_tables_are_no_rows(blank: str, tmp_path: Path) -> None:
    tables = {name: text + blank for name, text in everything().items() if name.endswith(".csv")}
    plain = read_directory(write_rank(tmp_path / "plain", everything()), tmp_path / "a")
    found = read_directory(write_rank(tmp_path / "blank", everything() | tables), tmp_path / "b")
    assert found.notes.all() == plain.notes.all()
    assert {name: frame.height for name, frame in found.frames.items()} == {
        name: frame.height for name, frame in plain.frames.items()
    }


def test_json_files_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    plain = read_directory(write_rank(tmp_path / "plain", everything()), tmp_path / "a")
    marked = write_rank(tmp_path / "marked", everything())
    for path in marked.rglob("*.json"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    found = read_directory(marked, tmp_path / "b")
    assert found["collectives"].equals(plain["collectives"])
    assert found.notes.all() == plain.notes.all()


def test_a_table_with_other_separators_is_told(tmp_path: Path) -> None:
    spoiled = everything() | {"memory_record.csv": MEMORY.replace(",", ";")}
    found = read_directory(write_rank(tmp_path, spoiled), tmp_path / "a")
    assert found.count("ascend_file_unreadable") == 1
