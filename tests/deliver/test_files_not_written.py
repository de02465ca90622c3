"""A documented file that is not written is named with its reason: in ``stepscope.json``, and by a note."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import stepscope
from analysis.stores import make_store
from stepscope.deliver.capture_directory import deliver

_CAPTURE = {"schema": "stepscope.capture/1", "state": "complete", "backend": "torch", "rank": 0, "world_size": 1}


def _delivered(directory: Path, store: Path, switches: dict[str, Any]) -> dict[str, str]:
    """The reasons that ``stepscope.json`` states, by file."""
    (directory / "STEPSCOPE").mkdir(parents=True)
    (directory / "stepscope.json").write_text(json.dumps(_CAPTURE | {"switches": switches}))
    about = {"rank": 0, "framework": "pytorch", "device_kind": "cpu", "world_size": 1, "switches": json.dumps(switches)}
    slices = [{"kind": "operator", "name": "a", "step": 1, "start_ns": 5, "dur_ns": 3, "track": 1}]
    steps = [{"step": 1, "host_start_ns": 0, "host_end_ns": 10, "marks_from": "profiler_step"}]
    tracks = [{"track": 1, "kind": "host", "name": "Thread 1"}]
    deliver(make_store(store, slices=slices, ranks=[about], steps=steps, tracks=tracks), 0, directory)
    stated = json.loads((directory / "stepscope.json").read_text())["files_not_written"]
    return {one["file"]: one.get("needs") or one["reason"] for one in stated}


def test_files_are_named_with_the_switch_that_they_need(tmp_path: Path) -> None:
    missing = _delivered(tmp_path / "host_7_20231114221320123_ascend_pt", tmp_path / "store", {"l2_cache": True})
    assert missing == {
        "api_statistic.csv": "no_runtime",
        "communication.json": "one_process",
        "communication_matrix.json": "one_process",
        "operator_details.csv": "record_shapes=True",
        "memory_record.csv": "profile_memory=True",
        "operator_memory.csv": "profile_memory=True",
        "dataset.csv": "no_pipeline",
        "minddata_pipeline_raw_0.csv": "no_pipeline",
        "minddata_pipeline_summary_0.json": "no_pipeline",
        "minddata_pipeline_summary_0.csv": "no_pipeline",
        "l2_cache.csv": "npu",
    }


def test_a_switch_that_was_on_is_not_asked_for(tmp_path: Path) -> None:
    switches = {"record_shapes": True, "profile_memory": True}
    missing = _delivered(tmp_path / "host_7_20231114221320123_ascend_pt", tmp_path / "store", switches)
    assert missing["operator_details.csv"] == "no_shapes"
    assert missing["dataset.csv"] == "no_pipeline"
    assert not any("=True" in reason for reason in missing.values())


def test_a_pipeline_is_recorded_with_the_host_and_no_switch_is_asked_for(tmp_path: Path) -> None:
    capture = tmp_path / "host_7_20231114221320123_ascend_pt"
    missing = _delivered(capture, tmp_path / "store", {"activities": ["CPU", "NPU"], "data_process": False})
    assert missing["minddata_pipeline_raw_0.csv"] == "no_pipeline"
    alone = tmp_path / "host_8_20231114221320123_ascend_pt"
    missing = _delivered(alone, tmp_path / "other", {"activities": ["NPU"], "data_process": True})
    assert missing["minddata_pipeline_raw_0.csv"] == "ProfilerActivity.CPU"


def test_a_database_alone_misses_no_text_file(tmp_path: Path) -> None:
    directory = tmp_path / "host_7_20231114221320123_ascend_pt"
    assert _delivered(directory, tmp_path / "store", {"export_type": ["db"]}) == {}


def test_the_run_tells_them_in_one_note(tmp_path: Path) -> None:
    _delivered(tmp_path / "host_7_20231114221320123_ascend_pt", tmp_path / "store", {})
    (note,) = [note for note in stepscope.load(tmp_path).notes if note.code == "files_not_written"]
    assert "memory_record.csv, operator_memory.csv (needs profile_memory=True)" in note.sentence("en")
    assert "memory_record.csv, operator_memory.csv（需设置 profile_memory=True）" in note.sentence("zh")
