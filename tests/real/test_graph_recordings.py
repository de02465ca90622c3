"""CUDA graphs of an H200: each kernel works for the operator that launches it in an eager run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from stepscope.run import Run
from support.recordings import DATA

FACTS: dict[str, Any] = json.loads((DATA / "graph_capture.facts.json").read_text())
RECORDINGS = ["graph_both", "graph_serving"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_kernels_inside_graphs_work_for_the_operators_of_an_eager_run(
    recording: Callable[[str], Run], name: str
) -> None:
    slices = recording(name).table("slices").collect()
    launches = slices.filter(name="cudaGraphLaunch").sort("start_ns")["correlation"].to_list()
    sizes = [*FACTS["eager"]] * FACTS["replays"]  # one after the other, and again
    assert len(launches) == len(sizes)
    for correlation, size in zip(launches, sizes, strict=True):
        kernels = slices.filter(correlation=correlation, kind="kernel").sort("start_ns")
        ours = [
            {"kernel": row["name"], "operator": row["operator"], "shapes": json.loads(row["input_shapes"])}
            for row in kernels.iter_rows(named=True)
        ]
        assert ours == FACTS["eager"][size]
        assert kernels["module"].cast(str).to_list() == [
            module for module in kernels["module"].cast(str).to_list() if module.startswith("Sequential_")
        ]
        assert kernels["stack"].null_count() == 0


@pytest.mark.parametrize("name", RECORDINGS)
def test_flops_inside_graphs_are_those_of_the_linear_layers(recording: Callable[[str], Run], name: str) -> None:
    flops = recording(name).flops()
    width, hidden = 256, 1024
    per_size = {size: 2 * (2 * int(size) * width * hidden) for size in FACTS["eager"]}
    assert [step.flops for step in flops.steps] == [*per_size.values()] * FACTS["replays"]
    (row,) = flops.operators
    assert (row.name, row.count) == ("aten::addmm", 2 * len(per_size) * FACTS["replays"])


@pytest.mark.parametrize("name", RECORDINGS)
def test_whatever_is_accused_is_shown(recording: Callable[[str], Run], name: str) -> None:
    # Each replay is waited for, beside longer Python code: no gap is mostly the synchronisation's.
    found = [finding for finding in recording(name).diagnose().findings if finding.accuses]
    assert {finding.kind for finding in found} >= {"host_bound"}
    assert [finding.kind for finding in found if not finding.proof] == []
