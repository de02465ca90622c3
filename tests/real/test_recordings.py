"""Recordings of our own: events are those of the file's text, steps those of the loop's own clock."""

from __future__ import annotations

import json
import re
import tarfile
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stepscope.run import Run
from support.kineto_truth import truth
from support.recordings import DATA, facts_of, recorded_steps

ALL = sorted(path.name.removesuffix(".clock.json") for path in DATA.glob("*.clock.json"))
NAMES = [name for name in ALL if not name.startswith("four_ranks")]  # those of several ranks have tests of their own
TRACES = [name for name in NAMES if (DATA / f"{name}.json.gz").exists()]
CAPTURES = [name for name in NAMES if (DATA / f"{name}.tar.gz").exists()]

Open = Callable[[str], Run]


def _packed(name: str, file: str) -> str:
    """The text of a file inside a packed capture."""
    with tarfile.open(DATA / f"{name}.tar.gz") as archive:
        (member,) = [member for member in archive.getmembers() if Path(member.name).name == file]
        content = archive.extractfile(member)
        assert content is not None
        return content.read().decode()


def test_all_kinds_of_recordings_are_there() -> None:
    assert {"torch_cpu", "gpu_steps", "gpu_graph", "loader_every_fourth", "loader_two_workers"} <= set(TRACES)
    assert {"mindspore_cpu", "gpu_stepscope", "torch_cpu_stepscope"} <= set(CAPTURES)
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 6_000_000


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_step_lies_around_that_of_the_loops_clock(recording: Open, name: str) -> None:
    steps = recording(name).table("steps").collect().sort("step")
    clocked = recorded_steps(name)
    assert steps["step"].to_list() == [step.step for step in clocked]
    assert not steps["incomplete"].any()
    for ours, own in zip(steps.iter_rows(named=True), clocked, strict=True):
        # Two clocks: that of the trace is set by the system's clock once, which drifts by some microseconds.
        assert ours["host_start_ns"] <= own.began_ns + 100_000
        assert ours["host_end_ns"] >= own.ended_ns - 100_000


@pytest.mark.parametrize("name", TRACES)
def test_every_event_of_a_trace_is_stored_with_its_exact_time(recording: Open, name: str) -> None:
    file = truth(DATA / f"{name}.json.gz")
    slices = recording(name).table("slices").filter(pl.col("slice") < len(file.events)).collect()
    stored = {row["slice"]: row for row in slices.iter_rows(named=True)}
    assert file.complete
    for event in file.complete:
        row = stored[event.index]
        assert (row["name"], row["start_ns"], row["dur_ns"]) == (event.name, file.base_ns + event.ts_ns, event.dur_ns)


@pytest.mark.parametrize("name", [name for name in CAPTURES if name != "mindspore_cpu"])
def test_operators_of_a_capture_are_those_of_its_raw_trace(recording: Open, name: str) -> None:
    document = json.loads(_packed(name, "trace.json"), parse_float=Decimal)
    expected: Counter[str] = Counter()
    total_ns = 0
    for event in document["traceEvents"]:
        if event.get("cat") == "cpu_op":
            expected[event["name"]] += 1
            total_ns += int(Decimal(event["dur"]) * 1000)
    slices = recording(name).table("slices").filter(pl.col("kind") == "operator").collect()
    assert Counter(slices["name"].cast(pl.String)) == expected
    assert slices["dur_ns"].sum() == total_ns


def test_layers_of_the_transformer_have_their_shapes(recording: Open) -> None:
    facts = facts_of("torch_cpu")
    width = facts["width"]
    layers = recording("torch_cpu").table("slices").filter(pl.col("name") == "aten::linear").collect()
    shapes = [re.findall(r"\[([\d, ]*)\]", text) for text in layers["input_shapes"].cast(pl.String)]
    weights = Counter(tuple(int(size) for size in sizes[1].split(",")) for sizes in shapes)
    # The attention's input and output, the feed-forward's two layers, and the last layer.
    expected = [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width), (width, width)]
    assert weights == Counter(expected * len(facts["recorded"]))
    assert layers.group_by("step").len()["len"].to_list() == [len(expected)] * len(facts["recorded"])


def test_mindspores_operators_are_those_of_its_own_table(recording: Open) -> None:
    lines = _packed("mindspore_cpu", "cpu_op_execute_timestamp_0.txt").splitlines()
    calls = sum(len(re.findall(r"\d+\.?\d*,\d+\.?\d*", line)) for line in lines)
    slices = recording("mindspore_cpu").table("slices").filter(pl.col("kind") == "operator").collect()
    assert slices.height == calls > 0


def test_mindspores_pipeline_has_the_stages_of_the_script(recording: Open) -> None:
    described: dict[str, Any] = json.loads(_packed("mindspore_cpu", "pipeline_profiling_0.json"))
    stages = sorted(op["op_type"].removesuffix("Op") for op in described["op_info"])
    ops = recording("mindspore_cpu").table("pipeline_ops").collect()
    assert sorted(ops["kind"].cast(pl.String)) == stages == ["Batch", "Generator", "Map"]


@pytest.mark.parametrize("name", ALL)
def test_nothing_in_a_recording_names_the_machine_it_came_from(name: str) -> None:
    texts = []
    packed = next(DATA.glob(f"{name}.tar.?z"), None)
    if packed is not None:
        with tarfile.open(packed) as archive:
            for member in archive.getmembers():
                content = archive.extractfile(member)
                assert content is not None
                texts.append(member.name + content.read().decode("utf-8", "replace"))
    else:
        texts.append(json.dumps(truth(DATA / f"{name}.json.gz").document, default=str))
    for text in texts:
        assert not re.search(r"/(home|root|tmp|work|Users)/", text)
