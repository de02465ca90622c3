"""Values that no writer means, where each once ended in a traceback or refused the whole capture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stepscope
from readers import ascend_builder, memory_snapshot_builder, mindinsight_builder, test_cluster_analysis
from readers.mindinsight.read_directories import read
from stepscope.report.console import harmless
from support.mini_trace import write_rank
from support.traces import document, operator, training_steps, write


@pytest.mark.parametrize("time", ["\ud800", "12\udfff", [], {}, 1 << 80])
def test_times_in_a_snapshot(tmp_path: Path, time: Any) -> None:
    trace = [memory_snapshot_builder.event("alloc", 4096, 512, 10), memory_snapshot_builder.event("alloc", 8192, 512)]
    trace[1]["time_us"] = time
    path = memory_snapshot_builder.write(tmp_path, {"segments": [], "device_traces": [trace]})
    assert stepscope.load(path).table("allocations").collect().height == 2


def test_surrogates_in_what_a_profiler_says_of_itself(tmp_path: Path) -> None:
    directory = ascend_builder.write_rank(tmp_path, ascend_builder.full_capture())
    odd = {"config": {"experimental_config": {"_profiler_level": "\ud800"}}, "torch_npu_version": "\ud800", "\ud800": 1}
    (directory / "profiler_info_0.json").write_text(json.dumps({**odd, "rank_id": 0}))
    (directory / "profiler_metadata.json").write_text(
        json.dumps({"host_name": "\ud800", "parallel_group_info": {"\ud800": {"group_name": "\ud800"}}})
    )
    assert stepscope.load(directory).table("slices").collect().height


@pytest.mark.parametrize("name", ["Step_Num", "STEP_NUM", "steps"])
def test_a_step_trace_with_another_header(tmp_path: Path, name: str) -> None:
    files = mindinsight_builder.contents()
    (file,) = [each for each in files if each.startswith("step_trace_raw")]
    files[file] = files[file].replace("step_num", name)
    directory = mindinsight_builder.write(tmp_path / "profiler", files)
    tables, _ = read(directory, tmp_path / "out")
    assert "steps" in tables


def test_groups_of_groups(tmp_path: Path) -> None:
    directory = test_cluster_analysis.text_files(tmp_path / "cluster_analysis_output")
    groups = {"collective": [[0, [1, 2]], [[0]], [{}], "x", [0, 1]], "p2p": [[]]}
    (directory / "communication_group.json").write_text(json.dumps(groups))
    groups_read = stepscope.load(directory).table("groups").collect()["ranks"].to_list()
    assert [0, 1] in groups_read


@pytest.mark.parametrize(
    "shapes",
    [
        [[1 << 63, 2], [2, 3]],
        [[1 << 31, 1 << 31], [1 << 31, 1 << 31]],
        [[0, 0], [0, 0]],
        [[1] * 100, [2]],
        [[-1, 2], [2, 3]],
        [[2.5, 3], [3, 4]],
        [[[[[]]]]],
        {"a": 1},
        "x",
    ],
)
def test_flops_of_odd_shapes(tmp_path: Path, shapes: Any) -> None:
    events = training_steps(2)
    for number, name in enumerate(("aten::mm", "aten::bmm", "aten::convolution", "aten::linear")):
        events.append(operator(name, 1_400_000 + number * 1000, 900, **{"Input Dims": shapes}))
    run = stepscope.load(write(tmp_path / "trace.json", document(events)))
    assert run.ask("flops").plain()


def test_a_row_with_a_number_beyond_all_measure_goes_alone(tmp_path: Path) -> None:
    path = write_rank(tmp_path / "trace.json", 0, world_size=1)
    content = json.loads(path.read_text())
    expected = sum(event["ph"] == "X" for event in content["traceEvents"])
    content["distributedInfo"] = {"rank": 0, "world_size": 1 << 40}
    path.write_text(json.dumps(content))
    assert stepscope.load(path).table("slices").collect().height == expected


def test_escape_bytes_of_names_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in harmless("a\x1b]0;title\x07")
