"""Files of a CPU-only MindSpore run. The fixtures are excerpts, by hand, of what MindSpore 2.10 wrote in both modes."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest

from stepscope.readers import mindspore_cpu
from stepscope.readers.discovery.source import Source
from support.rank_tables import Tables, counts_of, tables_of

# Graph mode: two steps of three operators; one line of cpu_framework per execution, in order of time.
TIMES = (
    "Gradients/Default/Grad_MatMul/MatMul-op0;HostCpuOps;1794726401029892532,0.0051,0 1794726401038053444,0.005418,0 \n"
    "Default/Conv2D-op0;HostCpuOps;1794726401028645708,0.434089,0 1794726401036764487,0.45789,0 \n"
    "Default/ApplyMomentum-op0;HostCpuOps;1794726401027652544,0.003265,0 1794726401035657200,4.61049,0 \n"
)
DETAILS = (
    "op_side,op_type,op_name,full_op_name,op_occurrences,op_total_time(ms),op_avg_time(ms),total_proportion,subgraph,pid\n"
    "Host,Conv2D,Conv2D-op0,Default/Conv2D-op0,2,0.891979,0.445989,0.0838268,Default,10936\n"
    "Host,MatMul,MatMul-op0,Gradients/Default/Grad_MatMul/MatMul-op0,2,0.010518,0.005259,0.000988466,Default,10936\n"
    "Host,ApplyMomentum,ApplyMomentum-op0,Default/ApplyMomentum-op0,2,4.613755,2.3068775,0.433,Default,10936\n"
)
TYPES = (
    "op_type,type_occurrences,execution_frequency(per-step),total_compute_time,avg_time(ms),percent\n"
    "Conv2D,2,1,0.891979,0.445989,0.0838268\n"
)
SHAPES = (
    "ApplyMomentum;ApplyMomentum-op0;2568957335;input_1:[5];input_2:[5];input_3:[];input_4:NoShape;\n"
    "Conv2D;Conv2D-op0;2568957335;input_1:[8, 1, 8, 8];input_2:[4, 1, 3, 3];\n"
    "MatMul;MatMul-op0;2568957335;input_1:[8, 5];\n"
    "ApplyMomentum;ApplyMomentum-op0;2568957335;input_1:[5];input_2:[5];input_3:[];input_4:NoShape;\n"
    "Conv2D;Conv2D-op0;2568957335;input_1:[2, 1, 8, 8];input_2:[4, 1, 3, 3];\n"
    "MatMul;MatMul-op0;2568957335;input_1:[2, 5];\n"
)
MEMORY = (
    "Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte),Total Active(Byte)\n"
    "1794726401027575437,25600,1073741824,25600\n"
    "1794726401027686309,17408,1073741824,17408\n"
)
NAME = "vm_10936_20261115070641010_ascend_ms"


def write_run(parent: Path, rank: int = 0) -> Path:
    directory = parent / NAME
    framework, output = directory / "FRAMEWORK", directory / "ASCEND_PROFILER_OUTPUT"
    framework.mkdir(parents=True)
    output.mkdir()
    (framework / f"cpu_op_execute_timestamp_{rank}.txt").write_text(TIMES)
    (framework / f"cpu_op_detail_info_{rank}.csv").write_text(DETAILS)
    (framework / f"cpu_op_type_info_{rank}.csv").write_text(TYPES)
    (framework / f"cpu_framework_{rank}.txt").write_text(SHAPES)
    (framework / f"cpu_ms_memory_record_{rank}.txt").write_text(MEMORY)
    (output / "trace_view.json").write_text("[]")
    (directory / "profiler_metadata.json").write_text(json.dumps({"model": "resnet"}))
    return directory


def claim(directory: Path) -> list[Source] | None:
    entries = sorted(directory.iterdir())
    folders = [entry.name for entry in entries if entry.is_dir()]
    return mindspore_cpu.claim(directory, folders, [entry.name for entry in entries if entry.is_file()])


def read(directory: Path, out: Path) -> tuple[Tables, dict[str, int]]:
    sources = claim(directory)
    assert sources is not None and len(sources) == 1
    return read_source(sources[0], out)


def read_source(source: Source, out: Path) -> tuple[Tables, dict[str, int]]:
    tables, notes = tables_of(mindspore_cpu, source, out)
    return tables, counts_of(notes)


def test_every_execution_is_a_slice_with_exact_times(tmp_path: Path) -> None:
    tables, counts = read(write_run(tmp_path), tmp_path / "out")
    slices = tables["slices"].sort("start_ns")
    assert slices.select("slice", "name", "start_ns", "dur_ns").rows() == [
        (4, "Default/ApplyMomentum-op0", 1794726401027652544, 3265),
        (2, "Default/Conv2D-op0", 1794726401028645708, 434089),
        (0, "Gradients/Default/Grad_MatMul/MatMul-op0", 1794726401029892532, 5100),
        (5, "Default/ApplyMomentum-op0", 1794726401035657200, 4610490),
        (3, "Default/Conv2D-op0", 1794726401036764487, 457890),
        (1, "Gradients/Default/Grad_MatMul/MatMul-op0", 1794726401038053444, 5418),
    ]
    assert set(slices.select("kind", "core", "step").rows()) == {("operator", "HOST_CPU", 0)}
    assert slices["type"].to_list()[:3] == ["ApplyMomentum", "Conv2D", "MatMul"]
    assert slices["phase"].to_list()[:3] == ["optimizer", "forward", "backward"]
    assert slices["module"].to_list()[:3] == ["Default", "Default", "Gradients/Default/Grad_MatMul"]
    assert counts == {"cpu_pipeline_missing": 1, "trace_view_repeats": 1, "no_steps_on_cpu": 1}


def test_shapes_belong_to_executions_in_order_of_time(tmp_path: Path) -> None:
    tables, _ = read(write_run(tmp_path), tmp_path / "out")
    convolutions = tables["slices"].filter(pl.col("type") == "Conv2D").sort("start_ns")
    assert convolutions["input_shapes"].to_list() == [
        "[[8, 1, 8, 8], [4, 1, 3, 3]]",
        "[[2, 1, 8, 8], [4, 1, 3, 3]]",
    ]


def test_shapes_that_cannot_be_laid_beside_executions_go_by_name(tmp_path: Path) -> None:
    directory = write_run(tmp_path)
    (directory / "FRAMEWORK" / "cpu_framework_0.txt").write_text("".join(SHAPES.splitlines(keepends=True)[:5]))
    tables, counts = read(directory, tmp_path / "out")
    by_type = dict(tables["slices"].select("type", "input_shapes").unique().rows())
    # The one line for MatMul stands for both runs; Conv2D had two shapes, and nobody knows which run had which.
    assert by_type == {"ApplyMomentum": "[[5], [5], [], NoShape]", "MatMul": "[[8, 5]]", "Conv2D": None}
    assert counts["shapes_ambiguous"] == 1


def test_empty_lines_of_pynative_mode_are_counted(tmp_path: Path) -> None:
    directory = write_run(tmp_path)
    lines = SHAPES.splitlines(keepends=True)
    (directory / "FRAMEWORK" / "cpu_framework_0.txt").write_text(
        "".join([lines[0], *[";;3447664023;\n"] * 4, lines[5]])
    )
    tables, counts = read(directory, tmp_path / "out")
    assert counts["shapes_not_recorded"] == 4
    shapes = tables["slices"].sort("start_ns")["input_shapes"].to_list()
    assert shapes == ["[[5], [5], [], NoShape]", None, None, None, None, "[[2, 5]]"]


def test_the_vendors_sums_are_reported(tmp_path: Path) -> None:
    tables, _ = read(write_run(tmp_path), tmp_path / "out")
    reported = tables["reported"]
    assert reported.filter(pl.col("file") == "cpu_op_type_info_0.csv").select("key", "metric", "value").rows() == [
        ("Conv2D", "type_occurrences", 2.0),
        ("Conv2D", "execution_frequency(per-step)", 1.0),
        ("Conv2D", "total_compute_time", 0.891979),
        ("Conv2D", "avg_time(ms)", 0.445989),
        ("Conv2D", "percent", 0.0838268),
    ]
    details = reported.filter(pl.col("file") == "cpu_op_detail_info_0.csv")
    assert details.height == 3 * 4
    total = details.filter((pl.col("key") == "Default/Conv2D-op0") & (pl.col("metric") == "op_total_time(ms)"))
    ours = tables["slices"].filter(pl.col("name") == "Default/Conv2D-op0")["dur_ns"].sum()
    assert total["value"].item() * 10**6 == pytest.approx(ours, rel=1e-5)


def test_memory_and_identity(tmp_path: Path) -> None:
    tables, _ = read(write_run(tmp_path), tmp_path / "out")
    assert tables["memory"].drop("rank").rows() == [
        ("cpu", "MindSpore", 1794726401027575437, 25600, 1073741824, 25600),
        ("cpu", "MindSpore", 1794726401027686309, 17408, 1073741824, 17408),
    ]
    row = tables["ranks"].row(0, named=True)
    assert (row["framework"], row["device_kind"], row["clock_base_ns"]) == ("mindspore", "cpu", 0)
    assert (row["first_ns"], row["last_ns"]) == (1794726401027652544, 1794726401035657200 + 4610490)
    assert json.loads(row["switches"]) == {"profile_memory": True, "metadata": {"model": "resnet"}}
    assert tables["tracks"].select("kind", "name", "thread").rows() == [("host", "Thread 0", "0")]


def test_pipeline_files_beside_the_operators_are_read(tmp_path: Path) -> None:
    directory = write_run(tmp_path)
    (directory / "FRAMEWORK" / "dataset_iterator_profiling_0.txt").write_text("0 0 1 7 5\n1 8 1 2 5\n")
    tables, counts = read(directory, tmp_path / "out")
    assert tables["pipeline_batches"].height == 1
    assert counts["pipeline_own_clock"] == 1 and "cpu_pipeline_missing" not in counts


def test_what_is_missing_is_noted(tmp_path: Path) -> None:
    directory = write_run(tmp_path)
    (directory / "FRAMEWORK" / "cpu_op_execute_timestamp_0.txt").unlink()
    (directory / "FRAMEWORK" / "cpu_ms_memory_record_0.txt").unlink()
    tables, counts = read(directory, tmp_path / "out")
    assert counts["cpu_operators_missing"] == 1 and counts["cpu_memory_missing"] == 1
    assert "slices" not in tables and tables["ranks"].height == 1


def test_operators_have_types_without_the_detail_file(tmp_path: Path) -> None:
    directory = write_run(tmp_path)
    (directory / "FRAMEWORK" / "cpu_op_detail_info_0.csv").unlink()
    tables, _ = read(directory, tmp_path / "out")
    assert tables["slices"].sort("start_ns")["type"].to_list()[:3] == ["ApplyMomentum", "Conv2D", "MatMul"]


def test_the_directory_says_rank_worker_and_time(tmp_path: Path) -> None:
    sources = claim(write_run(tmp_path, rank=3))
    assert sources is not None
    source = sources[0]
    assert (source.rank, source.worker, source.span) == (3, "vm_10936", 20261115070641010)
    assert {file.name for file in source.files} == {
        "cpu_op_execute_timestamp_3.txt",
        "cpu_op_detail_info_3.csv",
        "cpu_op_type_info_3.csv",
        "cpu_framework_3.txt",
        "cpu_ms_memory_record_3.txt",
        "profiler_metadata.json",
    }


def test_a_directory_with_device_data_is_for_another_reader(tmp_path: Path) -> None:
    directory = write_run(tmp_path)
    (directory / "PROF_000001_20250109123456789_ABC").mkdir()
    assert claim(directory) is None
    (directory / "PROF_000001_20250109123456789_ABC").rmdir()
    (directory / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").write_text("Name\n")
    assert claim(directory) is None


def test_other_directories_are_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert claim(tmp_path) is None
    assert mindspore_cpu.claim(tmp_path / "a", [], ["trace_view.json", "cpu.txt"]) is None
    assert mindspore_cpu.claim_file(tmp_path / "trace_view.json", b"[]") is None


def test_the_framework_folder_and_single_files_can_be_named(tmp_path: Path) -> None:
    directory = write_run(tmp_path) / "FRAMEWORK"
    tables, _ = read(directory, tmp_path / "out")
    assert tables["slices"].height == 6
    source = mindspore_cpu.claim_file(directory / "cpu_op_execute_timestamp_0.txt", b"x")
    assert source is not None
    assert read_source(source, tmp_path / "out_file")[0]["slices"].height == 6


# --- hostile input ------------------------------------------------------------------------------------


def files_of(directory: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in sorted(directory.rglob("*")) if file.is_file()}


def test_files_cut_at_any_byte_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    for place in range(24):
        directory = write_run(tmp_path / str(place))
        for file, content in files_of(directory).items():
            file.write_bytes(content[: len(content) * place // 24])
        before = files_of(directory)
        tables, _ = read(directory, tmp_path / f"out{place}")
        assert tables["ranks"].height == 1
        assert files_of(directory) == before


@pytest.mark.parametrize("seed", range(30))
def test_mutated_files_never_raise(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    directory = write_run(tmp_path)
    for file, whole in files_of(directory).items():
        content = bytearray(whole)
        for _ in range(dice.randrange(1, 12)):
            place = dice.randrange(len(content) + 1)
            content[place : place + dice.randrange(4)] = bytes(dice.randrange(256) for _ in range(dice.randrange(4)))
        file.write_bytes(bytes(content))
    tables, _ = read(directory, tmp_path / "out")
    assert tables["ranks"].height == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\0",
        b"\xff\xfe\xfd\n\n",
        b";;;\n;\n",
        b"a;HostCpuOps;x,y,z 1 1,2 ,,, 99999999999999999999,1,0\n",
        b"a;HostCpuOps;-5,1,0 1794726401029892532,1e30,0 1794726401029892532,-3,0 nan,inf,0\n",
        b"a,b,c\n1,2\n",
        b'"unclosed',
        b"x" * 100_000,
        b"[" * 5000,
        b"\n" * 1000,
    ],
)
def test_anything_at_all_under_a_known_name_becomes_a_note(tmp_path: Path, content: bytes) -> None:
    for place, name in enumerate(files_of(write_run(tmp_path / "names"))):
        directory = write_run(tmp_path / str(place))
        next(directory.rglob(name.name)).write_bytes(content)
        tables, _ = read(directory, tmp_path / f"out{place}")
        assert tables["ranks"].height == 1


def test_an_execution_at_time_zero_or_of_absurd_length_is_dropped(tmp_path: Path) -> None:
    directory = write_run(tmp_path)
    times = directory / "FRAMEWORK" / "cpu_op_execute_timestamp_0.txt"
    times.write_text(TIMES + "Default/Odd-op0;HostCpuOps;0,1.0,0 1794726401029892532,999999999999,0 \n")
    tables, counts = read(directory, tmp_path / "out")
    assert tables["slices"].height == 6
    assert (counts["event_far_away"], counts["duration_absurd"]) == (1, 1)


def test_operators_that_communicate_are_collectives(tmp_path: Path) -> None:
    directory = write_run(tmp_path)
    times = directory / "FRAMEWORK" / "cpu_op_execute_timestamp_0.txt"
    details = directory / "FRAMEWORK" / "cpu_op_detail_info_0.csv"
    times.write_text(
        TIMES + "Default/AllReduce-op0;HostCpuOps;1794726401036000000,0.25,0 \nReduceSum;HostCpuOps;5,1,0 \n"
    )
    details.write_text(DETAILS + "Host,AllReduce,AllReduce-op0,Default/AllReduce-op0,1,0.25,0.25,0.1,Default,10936\n")
    tables, _ = read(directory, tmp_path / "out")
    kinds = dict(tables["slices"].select("name", "kind").rows())
    assert kinds["Default/AllReduce-op0"] == "collective"
    assert {kind for name, kind in kinds.items() if name != "Default/AllReduce-op0"} == {"operator"}
    (call,) = tables["collectives"].to_dicts()
    assert (call["kind"], call["start_ns"], call["end_ns"] - call["start_ns"]) == (
        "all_reduce",
        1794726401036000000,
        250_000,
    )
    assert call["bytes"] is None, "MindSpore does not record of which type the elements are"
