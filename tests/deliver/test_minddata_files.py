"""``minddata_pipeline_*`` beside what MindSpore's own parser makes of the same recorded files, field by field."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from analysis.stores import make_store
from stepscope.deliver.capture_directory import deliver
from support.limits import HANGS_AFTER_S

_ROOT = Path(__file__).resolve().parents[2]
_PYTHON = Path(os.environ.get("STEPSCOPE_MINDSPORE_PYTHON", _ROOT / ".venv-mindspore" / "bin" / "python"))

needs_mindspore = pytest.mark.skipif(not _PYTHON.exists(), reason="needs MindSpore in .venv-mindspore")

#: Sentences, which differ in their words: what they speak of, and the numbers in them.
_ADVICE = ("cpu_analysis_details", "queue_analysis_details", "bottleneck_suggestion")


class Operator(NamedTuple):
    """One operator of a pipeline: its output queue, and the CPU samples of all its workers in % of a core."""

    kind: str
    children: list[int]
    workers: int = 1
    fill: list[int] | None = None
    cpu: tuple[int, ...] = (0, 0, 0)


#: From the operator that feeds the training to the one that reads.
PIPELINES = {
    "starved": [
        Operator("BatchOp", [1], fill=[0, 1, 0, 3], cpu=(3, 5)),
        Operator("MapOp", [2], workers=4, fill=[0, 0, 1, 0], cpu=(310, 340, 350)),
        Operator("GeneratorOp", [], fill=[8, 8, 7, 8], cpu=(60, 64)),
    ],
    "sink": [
        Operator("DeviceQueueOp", [1], cpu=(1, 2)),
        Operator("EpochCtrlOp", [2]),
        Operator("RepeatOp", [3]),
        Operator("MapOp", [4], workers=2, fill=[0, 0, 0, 2, 0], cpu=(4, 9)),
        Operator("ShuffleOp", [5], fill=[16, 16, 16, 16, 15], cpu=(2, 2)),
        Operator("TFReaderOp", [], workers=8, fill=[3, 4, 5, 4, 3], cpu=(40, 60)),
    ],
    "two_sources": [
        Operator("ZipOp", [1, 3]),
        Operator("BatchOp", [2], fill=[1, 2, 3, 4], cpu=(90, 96)),
        Operator("MindRecordOp", [], workers=4, fill=[16, 16, 16, 16], cpu=(20, 30)),
        Operator("RenameOp", [4]),
        Operator("GeneratorOp", [], fill=[0, 0, 0, 0], cpu=(99, 100)),
    ],
}
SINKS = {"sink"}
#: Batch, time from the pipeline, push, both, fill of the queue, moment.
BATCHES = [(1, 90, 2, 92, 0, 5000), (2, 12, 1, 13, 3, 5040), (3, 7, 1, 8, 2, 5055), (4, 31, 2, 33, 0, 5099)]


def write_framework(capture: Path, operators: list[Operator], sink: bool, first_batch: int = 1) -> None:
    """FRAMEWORK files as MindSpore 2.10 writes them."""
    folder = capture / "FRAMEWORK"
    folder.mkdir(parents=True)
    listed = [
        {"op_id": op, "op_type": one.kind, "num_workers": one.workers, "children": one.children}
        | {"metrics": None if one.fill is None else {"output_queue": {"length": 16, "size": one.fill}}}
        for op, one in enumerate(operators)
    ]
    (folder / "pipeline_profiling_0.json").write_text(json.dumps({"sampling_interval": 10, "op_info": listed}))
    cpu: list[dict[str, Any]] = [{"op_id": -1, "metrics": {"user_utilization": [50], "sys_utilization": [50]}}]
    for op, one in enumerate(operators):
        halves = [value // 2 for value in one.cpu], [value - value // 2 for value in one.cpu]
        cpu.append({"op_id": op, "metrics": {"user_utilization": halves[0], "sys_utilization": halves[1]}})
    content = {"cpu_processor_num": 8, "sampling_interval": 10, "op_info": cpu, "time_stamp": [1, 2, 3]}
    (folder / "minddata_cpu_utilization_0.json").write_text(json.dumps(content))
    lines = []
    for batch, get, push, both, fill, moment in BATCHES[first_batch - 1 :]:
        times = (get, push, both)
        lines += [f"0 {part} {batch} {value} {moment}" for part, value in enumerate(times)]
        lines.append(f"1 16 {batch} {fill} {moment}")
    name = "device_queue" if sink else "dataset_iterator"
    (folder / f"{name}_profiling_0.txt").write_text("\n".join(lines) + "\n")


def delivered(capture: Path, store: Path) -> Path:
    about = {"rank": 0, "framework": "mindspore", "device_kind": "cpu", "source": str(capture)}
    deliver(make_store(store, ranks=[about]), 0, capture)
    return capture / "ASCEND_PROFILER_OUTPUT"


def _summary(folder: Path) -> dict[str, list[Any]]:
    content = json.loads((folder / "minddata_pipeline_summary_0.json").read_text("utf-8"))
    assert isinstance(content, dict)
    return content


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def _spoken_of(sentences: list[str]) -> list[tuple[set[str], set[str]]]:
    """Operators and percentages that each sentence names."""
    return [(set(re.findall(r"\w+\(id=\d+\)", one)), set(re.findall(r"[\d.]+(?=%)", one))) for one in sentences]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Our output and theirs, by pipeline."""
    folder = tmp_path_factory.mktemp("minddata")
    places, arguments = {}, []
    for name, operators in PIPELINES.items():
        write_framework(folder / name, operators, name in SINKS)
        places[name] = (delivered(folder / name, folder / f"store_{name}"), folder / f"theirs_{name}")
        arguments += [str(folder / name), str(folder / f"theirs_{name}")]
    script = Path(__file__).with_name("mindspore_minddata.py")
    subprocess.run([str(_PYTHON), str(script), *arguments], check=True, timeout=HANGS_AFTER_S, capture_output=True)
    return places


@needs_mindspore
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_the_summary_is_that_of_mindspore(both: dict[str, tuple[Path, Path]], pipeline: str) -> None:
    ours, theirs = (_summary(place) for place in both[pipeline])
    assert list(ours) == list(theirs), "the same keys in the same order"
    for key, values in theirs.items():
        if key in _ADVICE:
            assert _spoken_of(ours[key]) == _spoken_of(values), key
        else:
            assert ours[key] == values, key


@needs_mindspore
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_the_raw_table_and_the_summary_as_table_are_those_of_mindspore(
    both: dict[str, tuple[Path, Path]], pipeline: str
) -> None:
    ours, theirs = both[pipeline]
    name = "minddata_pipeline_raw_0.csv"
    assert _rows(ours / name) == _rows(theirs / name)
    tables = [_rows(place / "minddata_pipeline_summary_0.csv") for place in (ours, theirs)]
    assert [row for row in tables[0] if row[0] not in _ADVICE] == [row for row in tables[1] if row[0] not in _ADVICE]


def test_the_starved_pipeline_by_hand(tmp_path: Path) -> None:
    write_framework(tmp_path / "capture", PIPELINES["starved"], sink=False)
    summary = _summary(delivered(tmp_path / "capture", tmp_path / "store"))
    assert summary["avg_cpu_pct"] == [4.0, 333.33, 62.0]
    assert summary["avg_cpu_pct_per_worker"] == [4.0, 83.33, 62.0]
    assert summary["per_pipeline_time"] == [round((12 + 7 + 31) / 3, 3)]
    assert summary["bottleneck_warning"] == ["Batch(id=0)"], "its input is nearly empty"
    assert "Map(id=1)" in summary["cpu_analysis_details"][0]


def test_a_window_behind_the_first_batch_counts_no_time_since_the_machine_started(tmp_path: Path) -> None:
    write_framework(tmp_path / "capture", PIPELINES["starved"], sink=False, first_batch=3)
    summary = _summary(delivered(tmp_path / "capture", tmp_path / "store"))
    # Two batches of 8 and 33 ms, and 44 ms between them, which MindSpore counts among these.
    assert summary["per_batch_time"] == [round((8 + 33 + 44) / 3, 3)]
