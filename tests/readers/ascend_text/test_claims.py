"""Which directories and files are captures in text form."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from readers.ascend_builder import (
    KERNELS,
    Tables,
    capture_events,
    claimed,
    full_capture,
    write_rank,
)
from readers.ascend_text.small_captures import read
from stepscope.readers import ascend_text
from stepscope.texts import catalogue


def test_a_rank_directory_tells_rank_worker_and_time(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, full_capture())
    [source] = claimed(directory) or []
    assert (source.reader, source.rank, source.worker, source.span) == ("ascend_text", 0, "host_77", 20250109123456789)
    assert (source.form, source.completeness, source.path) == ("text", 1004, directory)
    assert {file.name for file in source.files} == {*full_capture(), "profiler_info_0.json"}


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank3_start5_stop8/host_1_20250109123456789_ascend_ms", 3),
        ("node/rank12_ascend_pt", 12),
        ("anything", None),
    ],
)
def test_ranks_come_from_names_where_no_file_states_them(tmp_path: Path, name: str, rank: int | None) -> None:
    directory = write_rank(tmp_path, {"trace_view.json": capture_events()}, name=name)
    (directory / "profiler_info_0.json").unlink()
    [source] = claimed(directory) or []
    assert source.rank == rank


def test_files_that_somebody_zipped_are_the_same_files(tmp_path: Path) -> None:
    plain = read(tmp_path / "plain", full_capture())
    zipped = {f"{name}.gz": gzip.compress(_written(content)) for name, content in full_capture().items()}
    # A copy beside the file itself is no second piece of it.
    both = {**full_capture(), "trace_view.json.gz": gzip.compress(_written(capture_events()))}
    for directory, files in (("zipped", zipped), ("both", both)):
        tables = read(tmp_path / directory, files)
        for name in ("slices", "collectives", "transfers", "steps"):
            assert tables[name].equals(plain[name]), (directory, name)


def _written(content: object) -> bytes:
    return (content if isinstance(content, str) else json.dumps(content)).encode()


def test_a_rank_with_databases_only_is_not_claimed(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, {"ascend_pytorch_profiler_0.db": b"SQLite format 3\0", "analysis.db": b""})
    assert claimed(directory) is None


def test_text_beside_databases_is_claimed_as_text(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, full_capture() | {"ascend_pytorch_profiler_0.db": b"SQLite format 3\0"})
    [source] = claimed(directory) or []
    assert source.form == "text"
    assert not any(file.suffix == ".db" for file in source.files)


def test_a_mindspore_run_without_device_is_left_to_its_own_reader(tmp_path: Path) -> None:
    files = {"trace_view.json": capture_events(), "../FRAMEWORK/cpu_op_execute_timestamp_0.txt": "a;HostCpuOps;1,2,3\n"}
    assert claimed(write_rank(tmp_path, files, name="a_1_20250109123456789_ascend_ms")) is None


def test_a_mindinsight_directory_is_not_claimed(tmp_path: Path) -> None:
    for name in (
        "profiler_info_0.json",
        "minddata_pipeline_raw_0.csv",
        "parallel_strategy_0.json",
        "aicore_intermediate_0_type.csv",
    ):
        (tmp_path / name).write_text("{}")
    assert claimed(tmp_path) is None


def test_msprof_output_is_read_with_its_slices_in_order(tmp_path: Path) -> None:
    directory = tmp_path / "PROF_000001_20250109123456789_ABCDEF"
    output = directory / "mindstudio_profiler_output"
    output.mkdir(parents=True)
    (directory / "device_0").mkdir()
    (directory / "device_0" / "info.json.0").write_text(json.dumps({"rank_id": 5, "DeviceInfo": [{"ai_core_num": 24}]}))
    events = capture_events()
    (output / "msprof_slice_0_20250109123500.json").write_text(json.dumps(events[:20]))
    (output / "msprof_slice_1_20250109123501.json").write_text(json.dumps(events[20:]))
    (output / "msprof_20240101000000.json").write_text("[]")
    header, *rows = KERNELS.replace("Step Id,", "Device_id,").splitlines(keepends=True)
    header = header.replace(",Name,Type,", ",Op Name,OP Type,").replace("Accelerator Core", "Task Type")
    header = (
        header.replace("Start Time", "Task Start Time")
        .replace("Duration", "Task Duration")
        .replace("Wait Time", "Task Wait Time")
    )
    for place, row in enumerate(rows):
        (output / f"op_summary_slice_{place}_20250109123500.csv").write_text(header + row, newline="")
    (output / "task_time_20250109123500.csv").write_text("Device_id,kernel_name\n0,x\n")
    [source] = claimed(directory) or []
    assert (source.rank, source.span) == (5, 20250109123456789)
    found = Tables(source, tmp_path / "store")
    assert found["slices"].height == sum(event["ph"] == "X" for event in events)
    assert found["slices"]["slice"].n_unique() == found["slices"].height
    assert found.slice("MatMul")["type"] == "MatMulV2"
    assert found.slice("Cast")["type"] == "Cast"
    assert found["ranks"]["compute_units"].to_list() == [24]
    assert found.count("ascend_export_older") == 1
    assert found.count("ascend_file_repeats") == 1
    assert not found.count("ascend_kernel_unmatched")


def test_files_named_by_the_user_are_claimed_by_name_or_content(tmp_path: Path) -> None:
    trace, renamed, table, other = (
        tmp_path / name for name in ("trace_view.json", "my.json", "memory_record.csv", "x.csv")
    )
    text = json.dumps(capture_events())
    for path in (trace, renamed):
        path.write_text(text)
    table.write_text("Component,Timestamp(us),Total Reserved(MB),Device Type\nAPP,5.0,1,NPU:0\n")
    for path in (trace, renamed):
        source = ascend_text.claim_file(path, path.read_bytes())
        assert source is not None
        assert Tables(source, tmp_path / path.stem)["slices"].height == 21
    source = ascend_text.claim_file(table, table.read_bytes())
    assert source is not None
    assert Tables(source, tmp_path / "memory")["memory"].height == 1
    assert ascend_text.claim_file(other, b"a,b\n") is None
    assert ascend_text.claim_file(tmp_path / "k.json", b'{"schemaVersion": 1, "traceEvents": [{"ph": "X"}]}') is None


def test_files_that_nobody_reads_and_files_that_are_missing_are_noted(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture() | {"zebra.csv": "a\n1\n", "mindstudio_insight_data.db": b"x"})
    assert found.count("ascend_file_unknown") == 1
    missing = {note.file: note.params["switch"] for note in found.notes.all() if note.code == "ascend_file_missing"}
    assert missing["memory_record.csv"] == "profile_memory=True"
    assert "trace_view.json" not in missing


def test_every_note_has_its_sentence_in_both_languages(tmp_path: Path) -> None:
    readers = Path(ascend_text.__file__).parents[1]
    code = "".join(path.read_text("utf-8") for path in readers.glob("ascend*/*.py"))
    used = set(re.findall(r'\.add\(\s*"(ascend_\w+)"', code))
    known = {code for code in catalogue()["note"] if code.startswith("ascend_")}
    assert used == known
    found = read(tmp_path, full_capture() | {"zebra.csv": "a\n"})
    for note in found.notes.all():
        assert note.sentence("en") != note.sentence("zh")
    for code in known:
        fields = [set(re.findall(r"\{(\w+)\}", catalogue()["note"][code][lang])) for lang in ("en", "zh")]
        assert fields[0] == fields[1], code
