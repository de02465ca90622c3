"""Verdicts and numbers on MindSpore's own files, and on data sets that MindSpore runs here where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from analysis import mindspore_datasets
from stepscope.analysis.cpu import cpu
from stepscope.analysis.pipeline import pipeline
from support.limits import HANGS_AFTER_S
from support.samples import open_sample

_ROOT = Path(__file__).resolve().parents[2]
_SLOWEST = {"read": "Generator(id=2)", "map": "Map(id=1)", "batch": "Batch(id=0)"}


def _load(path: Path) -> Any:
    return open_sample(path).store


def test_a_real_profiler_directory(shared_data: Path) -> None:
    directory = shared_data / "mindinsight" / "profiler"
    answer = pipeline(_load(directory))
    first, second = answer.data.verdicts
    # Rank 0: 90 of 130 ms pass between steps (step_trace_raw), the host queue was empty, and so were all queues from
    # the reader on (pipeline_profiling): rules S4 and D2. One batch is little to go by.
    assert (first.rank, first.mode, first.bound, first.op_name) == (0, "sink", "pipeline", "ImageFolder(id=3)")
    assert (first.rule, first.rules, first.certain) == ("S4", ["S4", "D2"], False)
    lines = [line.split(",") for line in (directory / "step_trace_raw_0_detail_time.csv").read_text().splitlines()]
    place = lines[0].index("iteration_interval")
    ticks = [int(line[place]) for line in lines[1:] if line[0].isdigit() and int(line[0]) > 1]  # of 10 ns
    assert first.interval_us == pytest.approx(sum(ticks) / len(ticks) / 100, rel=1e-9)
    # Rank 1 has three samples and nothing else; rank 10 has no pipeline files.
    assert (second.rank, second.bound) == (1, "unknown")
    assert ("pipeline_not_recorded", 10) in [(note.code, note.rank) for note in answer.notes]


def test_a_device_that_found_data_is_not_starved(shared_data: Path) -> None:
    found = pipeline(_load(shared_data / "mindinsight" / "run_2" / "profiler")).data
    # minddata_aicpu: the device's queue held 3, 2 and 1 batches when it was asked, in the one step that was recorded.
    assert (found.verdict.bound, found.verdict.rule, found.bottleneck) == ("none", "S1", None)
    assert (found.starving[0].counted, found.starving[0].count) == (1, 0)


def test_stages_and_their_use_are_those_of_the_vendors_table(shared_data: Path) -> None:
    found = pipeline(_load(shared_data / "mindinsight" / "pipeline_profiling_0.json")).data
    uses = {entry.name: (entry.queue_mean, entry.use_share, entry.parent) for entry in found.ops}
    # minddata_pipeline_raw_0.csv, made by MindSpore from the same queues: average 20 of 64 = 0.3125.
    for name in ("Shuffle(id=1)", "TFReader(id=2)", "TFReader(id=3)"):
        assert uses[name][:2] == (20.0, 0.3125)
    assert uses["TFReader(id=3)"][2] == 4 and uses["TFReader(id=4)"][:2] == (None, None)
    assert found.verdict.bound == "unknown"


def _interpreter() -> Path:
    found = Path(os.environ.get("STEPSCOPE_MINDSPORE_PYTHON", _ROOT / ".venv-mindspore" / "bin" / "python"))
    if not found.exists():
        pytest.skip("MindSpore is not installed: set STEPSCOPE_MINDSPORE_PYTHON to an interpreter that has it")
    return found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data sets that MindSpore ran and recorded, one slow stage each, with MindSpore's own summaries."""
    place = tmp_path_factory.mktemp("mindspore")
    command = [str(_interpreter()), mindspore_datasets.__file__, str(place)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return place


@pytest.mark.parametrize("slow", mindspore_datasets.CASES)
def test_the_slow_stage_of_a_real_data_set_is_named(recorded: Path, slow: str) -> None:
    found = pipeline(_load(recorded / slow)).data
    assert (found.verdict.mode, found.bottleneck) == ("feed", _SLOWEST.get(slow))
    assert found.verdict.bound == ("pipeline" if slow in _SLOWEST else "none")
    if slow in _SLOWEST:
        assert found.verdict.rule == "F1" and (found.verdict.potential_speedup or 0) > 2


@pytest.mark.parametrize("slow", mindspore_datasets.CASES)
def test_numbers_are_those_of_mindspores_own_summary(recorded: Path, slow: str) -> None:
    vendor = json.loads((recorded / slow / "minddata_pipeline_summary_0.json").read_text())
    store = _load(recorded / slow)
    found = pipeline(store).data
    ours = {entry.name: entry for entry in found.ops}
    for place, name in enumerate(vendor["pipeline_ops"]):
        assert ours[name].workers == vendor["num_workers"][place]
        assert ours[name].queue_mean == pytest.approx(vendor["queue_average_size"][place], abs=0.006)
        # MindSpore divides the rounded average: 0.005 of 16.
        assert (ours[name].use_share or 0) * 100 == pytest.approx(vendor["queue_utilization_pct"][place], abs=0.04)
        assert (ours[name].empty_share or 0) * 100 == pytest.approx(vendor["queue_empty_freq_pct"][place], abs=0.006)
        parent = ours[name].parent
        assert (-1 if parent is None else parent) == vendor["parent_id"][place]
    get = next(times for times in found.batches if times.part == "get")
    assert get.mean_us / 1000 == pytest.approx(vendor["per_pipeline_time"][0], abs=0.0006)
    answer = cpu(store)
    # MindSpore leaves out what runs at low priority: beside such work its shares add up to less than the machine, and
    # that is said instead of a number.
    unknown = "cpu_cores_unknown" in [note.code for note in answer.notes]
    assert answer.data.ranks[0].cores == (None if unknown else os.cpu_count())
