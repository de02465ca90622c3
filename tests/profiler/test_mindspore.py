"""MindSpore on a CPU: the documented samples in both modes, true numbers, the input pipeline."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest

import stepscope
from support.limits import HANGS_AFTER_S

_ROOT = Path(__file__).parents[2]
_SOURCE = str(Path(stepscope.__file__).parents[1])
_WANTED = os.environ.get("STEPSCOPE_MINDSPORE_PYTHON", str(_ROOT / ".venv-mindspore" / "bin" / "python"))
MODES = ("pynative", "graph")

pytestmark = pytest.mark.skipif(
    not Path(_WANTED).is_file(), reason="no interpreter with MindSpore: set STEPSCOPE_MINDSPORE_PYTHON"
)


class Recorded:
    """What the job recorded; documented files are made when they are asked for."""

    def __init__(self, folder: Path) -> None:
        content: dict[str, Any] = json.loads((folder / "result.json").read_text())
        self.windows = {name: [Path(path) for path in paths] for name, paths in content["windows"].items()}
        self.said: dict[str, list[str]] = content["said"]
        self.clock: list[list[int]] = content["clock"]
        self.waits_s: list[float] = content["waits_s"]
        self.environment = {name: folder / name for name in ("ours_first", "theirs_first", "launched")}
        self.errors = {name: (folder / f"{name}.txt").read_text() for name in self.environment}

    def documented(self, window: Path, name: str) -> list[dict[str, str]]:
        from stepscope.cli.analyse import parse_window

        output = window / "ASCEND_PROFILER_OUTPUT"
        if not output.exists():
            assert parse_window(window, None, True, None)["error"] is None
        with (output / name).open(newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The long process beside the short ones: importing MindSpore takes its time."""
    from stepscope.cli.profile import environment

    folder = tmp_path_factory.mktemp("mindspore")
    samples = _ROOT / "examples" / "mindspore"
    script = samples / "environment.py"
    theirs_first = folder / "theirs_first.py"
    theirs_first.write_text("import mindspore\n" + script.read_text().replace("from __future__ import annotations", ""))
    plan = {"wait": 1, "warmup": 1, "active": 2, "repeat": 1}
    jobs: dict[str, tuple[list[str], dict[str, str]]] = {
        "main": ([str(Path(__file__).parent / "mindspore_job.py"), str(folder), str(samples)], {}),
        "ours_first": ([str(script), "pynative"], _options(folder / "ours_first")),
        "theirs_first": ([str(theirs_first), "graph"], _options(folder / "theirs_first")),
        "launched": (
            [str(folder / "plain.py"), "graph"],
            environment({"output_path": str(folder / "launched"), "schedule": plan, "analyse": False}),
        ),
    }
    (folder / "plain.py").write_text(script.read_text().replace("import stepscope.profiler", "# "))
    main = _start(*jobs["main"], folder)
    for name in (*list(jobs)[1:], "main"):
        process = main if name == "main" else _start(*jobs[name], folder)
        _, errors = process.communicate(timeout=HANGS_AFTER_S)
        assert process.returncode == 0, f"{name}: {errors[-3000:]}"
        (folder / f"{name}.txt").write_text(errors)
    return Recorded(folder)


def _options(output: Path) -> dict[str, str]:
    """As the documents have it; AicoreNone is their spelling."""
    options = {
        "start": True,
        "output_path": str(output),
        "activities": ["CPU", "NPU"],
        "aic_metrics": "AicoreNone",
        "l2_cache": False,
        "profiler_level": "Level0",
    }
    return {"MS_PROFILER_OPTIONS": json.dumps(options)}


def _start(command: list[str], extra: dict[str, str], folder: Path) -> subprocess.Popen[str]:
    paths = [extra.get("PYTHONPATH", ""), _SOURCE, str(_ROOT / "examples" / "mindspore")]
    names = {"PYTHONPATH": os.pathsep.join(path for path in paths if path), "STEPSCOPE_LANG": "en"}
    names |= {"GLOG_v": "3", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [_WANTED, *command],
        env={**os.environ, **extra, **names},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )


@pytest.mark.parametrize("mode", MODES)
def test_the_loop_with_a_schedule_records_steps_4_and_5_and_no_other(mode: str, recorded: Recorded) -> None:
    (window,) = recorded.windows[f"for_loop_{mode}"]
    rows = recorded.documented(window, "kernel_details.csv")
    counts = {step: sum(row["Step ID"] == step for row in rows) for step in {row["Step ID"] for row in rows}}
    assert set(counts) == {"4", "5"}
    assert counts["4"] == counts["5"] > 10
    assert any("Momentum" in row["Name"] or "Momentum" in row["Type"] for row in rows), "the optimizer too"


@pytest.mark.parametrize("mode", MODES)
def test_both_callbacks_record_their_three_steps(mode: str, recorded: Recorded) -> None:
    for name, origin in (("callback", "profiler_step"), ("callback_old", "optimizer_step")):
        (window,) = recorded.windows[f"{name}_{mode}"]
        run = stepscope.load(window)
        steps = run.table("steps").collect()
        assert (name, steps.height, steps["incomplete"].any()) == (name, 3, False)
        assert steps["marks_from"].unique().to_list() == [origin]
        kernels = run.sql("SELECT step, count(*) AS n FROM slices WHERE kind = 'operator' GROUP BY step ORDER BY step")
        assert kernels.filter(pl.col("step").is_not_null())["n"].n_unique() == 1, "each step has the same kernels"


@pytest.mark.parametrize("mode", MODES)
def test_the_dynamic_sample_changed_live_gives_both_windows(mode: str, recorded: Recorded) -> None:
    windows = recorded.windows[f"dynamic_{mode}"]
    assert [window.parent.name for window in windows] == ["rank0_start2_stop5", "rank0_start8_stop10"]
    for window, expected in zip(windows, ([2, 3, 4, 5], [8, 9, 10]), strict=True):
        assert stepscope.load(window).table("steps").collect()["step"].to_list() == expected


def test_ready_made_callback_and_monitor_use_the_trainings_own_numbers(recorded: Recorded) -> None:
    for name, expected in (("ready_made", [3, 4, 5]), ("monitor", [2, 3, 4])):
        (window,) = recorded.windows[name]
        assert stepscope.load(window).table("steps").collect()["step"].to_list() == expected


def test_nothing_is_noted_but_what_cannot_be_served(recorded: Recorded) -> None:
    said = {name: texts for name, texts in recorded.said.items() if texts}
    assert set(said) == {"callback_old_pynative", "clock"}
    assert ["with_stack" in text for text in said["clock"]] == [True]


def test_kernel_sums_equal_those_of_the_raw_files(recorded: Recorded) -> None:
    for window in recorded.windows["for_loop_graph"] + recorded.windows["clock"]:
        raw = Decimal(0)
        for line in (window / "FRAMEWORK" / "cpu_op_execute_timestamp_0.txt").read_text().splitlines():
            raw += sum(Decimal(run.split(",")[1]) for run in line.split(";")[2].split())
        ours = sum(Decimal(row["Duration(us)"]) for row in recorded.documented(window, "kernel_details.csv"))
        assert ours > 0
        assert abs(ours - raw * 1000) <= Decimal("0.001") * 200, "each kernel is rounded to a nanosecond"


def test_step_times_equal_the_loops_own_clock(recorded: Recorded) -> None:
    own = {step: (begin, end) for step, begin, end in recorded.clock}
    more = []
    for window in recorded.windows["clock"]:
        steps = stepscope.load(window).table("steps").collect()
        for step, begin, end in steps.select("step", "host_start_ns", "host_end_ns").iter_rows():
            assert begin <= own[step][0] < own[step][1] <= end, "on the same clock"
            more.append((end - begin) / (own[step][1] - own[step][0]) - 1)
    assert len(more) == 6
    # A busy machine may stop the process between two looks at the clock, so not each of them.
    assert median(more) < 0.01


def test_marks_memory_and_shapes_are_there(recorded: Recorded) -> None:
    window = recorded.windows["clock"][0]
    run = stepscope.load(window)
    assert run.sql("SELECT count(*) AS n FROM slices WHERE name = 'multiply'")["n"][0] == 3
    rows = recorded.documented(window, "memory_record.csv")
    assert {"MindSpore"} <= {row["Component"] for row in rows}
    assert recorded.documented(window, "step_trace_time.csv")[0]["Step"] == "2"


def test_the_slow_stage_of_a_pipeline_is_named(recorded: Recorded) -> None:
    (window,) = recorded.windows["slow_stage"]
    for name in ("pipeline_profiling_0.json", "minddata_cpu_utilization_0.json", "dataset_iterator_profiling_0.txt"):
        assert (window / "FRAMEWORK" / name).is_file()
    raw = recorded.documented(window, "minddata_pipeline_raw_0.csv")
    assert [row["op_type"] for row in raw] == ["BatchOp", "MapOp", "GeneratorOp"], "as MindSpore writes them"
    answer = stepscope.load(window).pipeline()
    assert answer.bottleneck is not None
    assert answer.bottleneck.startswith("Map")
    assert answer.verdict.bound == "pipeline"
    (waited,) = [part.mean_us for part in answer.batches if part.part == "get"]
    assert waited is not None
    own_us = [1e6 * wait_s for wait_s in recorded.waits_s]
    assert 0.5 * min(own_us) < waited < 1.01 * max(own_us) + 1000, "as the loop's own clock has it; theirs counts in ms"


def test_each_window_has_the_batches_of_the_pipeline_that_is_watched(recorded: Recorded) -> None:
    found = []
    for window in recorded.windows["pipelines"]:
        lines = (window / "FRAMEWORK" / "dataset_iterator_profiling_0.txt").read_text().splitlines()
        batches = sorted({int(line.split()[2]) for line in lines})
        found.append((batches[0], batches[-1]))
    assert found == [(11, 15), (16, 18), (21, 24), (1, 6)]


def test_the_environment_sample_records_with_ours_alone(recorded: Recorded) -> None:
    (window,) = recorded.environment["ours_first"].iterdir()
    steps = stepscope.load(window).table("steps").collect()
    assert (steps.height, steps["marks_from"][0]) == (8, "optimizer_step")
    assert "MindSpore's own" not in recorded.errors["ours_first"]
    assert "parameter" not in recorded.errors["ours_first"]
    assert recorded.documented(window, "kernel_details.csv")


def test_a_script_that_imports_mindspore_first_is_recorded_by_ours_and_not_by_both(recorded: Recorded) -> None:
    ours = [path for path in recorded.environment["theirs_first"].iterdir() if (path / "stepscope.json").is_file()]
    (window,) = ours
    assert stepscope.load(window).table("steps").collect().height == 8
    assert "it is stopped and this one records instead" in recorded.errors["theirs_first"]


def test_the_launcher_finds_scheduled_steps_in_graph_mode(recorded: Recorded) -> None:
    (window,) = recorded.environment["launched"].iterdir()
    steps = stepscope.load(window).table("steps").collect()
    assert steps.select("step", "incomplete").rows() == [(2, False), (3, False)]
