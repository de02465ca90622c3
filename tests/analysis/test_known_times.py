"""Two real GPU captures whose times were worked out by hand from the file: every answer has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.samples import open_sample


def test_work_from_before_the_window_belongs_to_no_step(shared_data: Path) -> None:
    """233 kernels, 39.19 ms, were launched before the first mark; the device is busy almost all the time."""
    run = open_sample(shared_data / "kineto" / "gpt_fp32_snap.json.gz")
    steps = run.steps()
    assert steps["step"].to_list() == [2, 3, 4]
    assert (steps["computing_us"] / 1000).to_list() == pytest.approx([46.761, 46.597, 46.703], abs=5e-4)
    (rank,) = run.summary().ranks
    assert rank.before_window_us == pytest.approx(39_190, abs=5)
    assert rank.idle_us is not None
    assert rank.idle_us / rank.period_us == pytest.approx(0.0083, abs=5e-5)
    assert "host_bound" not in {finding.kind for finding in run.diagnose().findings if finding.accuses}


def test_a_graph_without_marks_is_one_step_and_the_profilers_buffers_are_its_own(shared_data: Path) -> None:
    run = open_sample(shared_data / "kineto" / "h200_graph.json.gz")
    (step,) = run.steps().to_dicts()
    assert (step["device_span_us"], step["idle_us"]) == pytest.approx((143.4, 64.1), abs=0.05)
    (rank,) = run.summary().ranks
    assert (rank.period_us, rank.idle_us) == (step["period_us"], step["idle_us"])
    assert rank.profiler_overhead_us == pytest.approx(3147, abs=1)
    (launched,) = run.launches().ranks
    (path,) = run.critical_path()
    assert launched.idle_us == step["idle_us"]
    assert path.length_us == step["period_us"]


@pytest.mark.parametrize("name", ["gpt_fp32_snap", "gpt_bf16", "h200_graph", "h200_plain"])
def test_gaps_are_listed_once_and_causes_add_up(shared_data: Path, name: str) -> None:
    run = open_sample(shared_data / "kineto" / f"{name}.json.gz")
    gaps = [(gap.rank, gap.start_ns) for gap in run.launches(gaps=500).gaps]
    assert len(set(gaps)) == len(gaps)
    for row in run.steps().iter_rows(named=True):
        assert sum(row["idle_by_cause"].values()) == pytest.approx(row["idle_us"], abs=1e-6)
