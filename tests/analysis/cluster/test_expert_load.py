"""How evenly experts were chosen: counts of a table small enough to see."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from stepscope.analysis.cluster.expert_load import ExpertLoad, expert_loads


def test_each_layer_names_its_busiest_expert_and_how_far_it_is_above_the_mean(tmp_path: Path) -> None:
    folder = tmp_path / "hotspot"
    folder.mkdir()
    (folder / "model_gen_config.json").write_text('{"num_moe_layers": 2, "num_of_experts": 4}')
    (folder / "decode_0.csv").write_text("10,10,10,10\n0,30,5,5\n")
    run = stepscope.load(folder, store=tmp_path / "store", progress=False)
    assert expert_loads(run.store) == [
        ExpertLoad(0, "decode", 0, 4, 40, 0, 10, 1.0),
        ExpertLoad(0, "decode", 1, 4, 40, 1, 30, 3.0),
    ]


def test_the_vendors_sample_adds_up_to_its_cells(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "outside" / "msinsight" / "expert_hotspot"
    if not folder.exists():
        pytest.skip("the sample is not there")
    loads = expert_loads(stepscope.load(folder, store=tmp_path / "store", progress=False).store)
    for phase in ("decode", "prefill"):
        cells = [[int(cell) for cell in line.split(",")] for line in (folder / f"{phase}_0.csv").read_text().split()]
        own = [load for load in loads if load.phase == phase]
        assert [load.tokens for load in own] == [sum(row) for row in cells]
        assert [load.busiest_tokens for load in own] == [max(row) for row in cells]
