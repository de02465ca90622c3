"""With the parameters of a real recording the model takes as long as the recording did."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from support.fitted import fitted
from support.recordings import capture_of
from support.samples import open_sample

#: As docs/simulate.md says.
LARGEST_ERROR = 0.10


@pytest.mark.parametrize("name", ["gpu_steps", "torch_cpu", "four_ranks_cpu_healthy", "four_ranks_cuda_healthy"])
def test_the_mean_period_is_that_of_the_recording(name: str, tmp_path: Path) -> None:
    run = stepscope.load(capture_of(name, tmp_path / "capture"), store=tmp_path / "store", progress=False)
    recorded = float(run.steps()["period_us"].mean())  # type: ignore[arg-type]

    assert fitted(run, name).run().step_ns / 1000 == pytest.approx(recorded, rel=LARGEST_ERROR)


@pytest.mark.parametrize("name", ["gpt_bf16", "gpt_fp32_snap", "h200_plain"])
def test_so_it_is_for_larger_models(name: str, shared_data: Path) -> None:
    run = open_sample(shared_data / "kineto" / f"{name}.json.gz")
    recorded = float(run.steps()["period_us"].mean())  # type: ignore[arg-type]

    assert fitted(run, name).run().step_ns / 1000 == pytest.approx(recorded, rel=LARGEST_ERROR)
