"""The cluster's slowdown: the authors' results on two real jobs, and a pipeline computed by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.analysis.cluster.slowdown.types import Slowdown


def _slowdown(path: Path) -> Slowdown:
    found = stepscope.load(path, progress=False).cluster().slowdown
    assert found is not None
    return found


@pytest.mark.parametrize(("job", "worst", "single", "last"), [("AR", [0], True, False), ("ST", [7], False, True)])
def test_two_real_jobs_give_the_published_results(
    shared_data: Path, job: str, worst: list[int], single: bool, last: bool
) -> None:
    folder = shared_data / "cluster" / "ndtimeline"
    theirs, of_ranks, of_stage = (
        json.loads((folder / f"{name}-{job}.json").read_text()) for name in ("result", "mw", "ms")
    )
    ours = _slowdown(folder / f"trace-{job}.parquet")
    assert ours.total == pytest.approx(theirs["blocking_slowdown"], rel=0.01)
    assert ours.replay_error_share < 0.02
    lines, stages = theirs["blocking_decompose_by_dp_rank"], theirs["blocking_decompose_by_stage"]
    assert {str(each.index): each.slowdown for each in ours.by_dimension} == pytest.approx(lines, rel=0.002)
    assert {str(each.stage): each.slowdown for each in ours.by_stage} == pytest.approx(stages, rel=0.002)
    assert ours.worst_ranks == worst
    assert ours.worst_ranks_share == pytest.approx(of_ranks["Mw"], abs=0.01)
    assert ours.last_stage_share == pytest.approx(of_stage["Ms"], abs=0.01)
    # A single rank explains the loss of AR, the last stage that of ST, and neither the other's.
    assert ((ours.worst_ranks_share or 0) >= 0.5, (ours.last_stage_share or 0) >= 0.5) == (single, last)


def _job(path: Path, forward: dict[tuple[int, int], float], steps: int = 2) -> Path:
    """Two stages, two data-parallel ranks, one micro-batch; a transfer takes 1 s, a backward 2 s, a reduction 1 s."""
    rows: list[dict[str, Any]] = []

    def add(dp: int, stage: int, step: int, name: str, start: float, end: float) -> None:
        line = {"dp_rank": dp, "stage": stage, "rank": 2 * stage + dp, "step": step}
        rows.append(line | {"optype": name, "start_ts": start, "duration": end - start})

    for step in range(steps):
        ready = {}
        for dp in (0, 1):
            sent = forward[dp, 0] + 1.0
            turned = sent + forward[dp, 1]
            add(dp, 0, step, "forward-compute", 0.0, forward[dp, 0])
            add(dp, 0, step, "forward-send", forward[dp, 0], sent)
            add(dp, 1, step, "forward-recv", 0.0, sent)
            add(dp, 1, step, "forward-compute", sent, turned)
            add(dp, 1, step, "backward-compute", turned, turned + 2)
            add(dp, 1, step, "backward-send", turned + 2, turned + 3)
            add(dp, 0, step, "backward-recv", forward[dp, 0], turned + 3)
            add(dp, 0, step, "backward-compute", turned + 3, turned + 5)
            ready[dp, 0], ready[dp, 1] = turned + 5, turned + 2
        for (dp, stage), start in ready.items():
            last = max(ready[other, stage] for other in (0, 1))
            add(dp, stage, step, "grads-reduce-scatter", start, last + 1)
    narrow = {"dp_rank": pl.Int8, "stage": pl.Int8, "rank": pl.Int16, "start_ts": pl.Float32, "duration": pl.Float32}
    pl.DataFrame(rows, schema_overrides=narrow).write_parquet(path)
    return path


def test_a_pipeline_by_hand(tmp_path: Path) -> None:
    # All forwards take 2 s, but that of data-parallel rank 0 on stage 0 takes 6 s: a mean of 3 s.
    job = _job(tmp_path / "trace.parquet", {(0, 0): 6.0, (0, 1): 2.0, (1, 0): 2.0, (1, 1): 2.0})
    ours = _slowdown(job)
    # 6 + 1 + 2 + 2 + 1 + 2 + 1 = 15 s; ideally 3 + 1 + 3 + 2 + 1 + 2 + 1 = 13 s.
    assert (ours.measured_us, ours.replayed_us, ours.ideal_us) == (15e6, 15e6, 13e6)
    assert ours.replay_error_share == 0
    assert ours.total == pytest.approx(15 / 13)
    # Line 0 alone: 6 + 1 + 2 …; line 1 alone: its own takes 11 s, but the ideal other one 13 s.
    assert {each.index: each.slowdown for each in ours.by_dimension} == pytest.approx({0: 15 / 13, 1: 1.0})
    # Stage 0 alone: 6 + 1 + 3 + 2 + 1 + 2 + 1; stage 1 alone: 3 + 1 + 2 + 2 + 1 + 2 + 1.
    assert {each.stage: each.slowdown for each in ours.by_stage} == pytest.approx({0: 16 / 13, 1: 12 / 13})
    # With rank 0 ideal the step takes 3 + 1 + 2 + 2 + 1 + 2 + 1 = 12 s: more than the loss is gone.
    assert ours.worst_ranks == [0]
    assert ours.worst_ranks_share == pytest.approx(1.5)
