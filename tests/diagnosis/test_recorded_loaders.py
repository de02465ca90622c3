"""Recordings of loaders that stall in a rhythm: what is found, against the clock inside the recorded script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stepscope

_DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.mark.parametrize(("name", "every"), [("loader_every_fourth", "4th"), ("loader_two_workers", "2nd")])
def test_the_stall_costs_what_the_clock_says_and_its_rhythm_is_named(name: str, every: str) -> None:
    clock = json.loads((_DATA / f"{name}.clock.json").read_text())
    waited = sum(step["got_batch_ns"] - step["began_ns"] for step in clock["steps"])
    whole = clock["steps"][-1]["ended_ns"] - clock["steps"][0]["began_ns"]
    run = stepscope.load(_DATA / f"{name}.json.gz", progress=False)
    found = run.diagnose()
    worst = found.findings[0]
    assert (worst.kind, worst.cause, worst.severity) == ("data_starved", "processing", "critical")
    assert worst.gain_share == pytest.approx(waited / whole, abs=0.02)
    assert f"every {every} step" in found.verdict.sentence.en
    assert f"数据处理（{worst.where.pipeline_op}）过慢" in worst.title.zh
    assert [finding.kind for finding in found.findings if finding.accuses] == ["data_starved"]
    # One number: what the pipeline calls waiting is the idle time for data of the mean step, and what is to gain.
    pipeline, (rank,) = run.pipeline().verdict, run.summary().ranks
    assert rank.idle_by_cause is not None
    assert pipeline.period_us == pytest.approx(rank.period_us, rel=1e-9)
    assert pipeline.wait_share == pytest.approx(rank.idle_by_cause.data_us / rank.period_us, rel=1e-9)
    assert worst.gain_share == pytest.approx(pipeline.wait_share, rel=2e-3), "a replay without the waits"
